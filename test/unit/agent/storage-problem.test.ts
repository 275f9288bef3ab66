import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Storage } from '../../../src/agent/storage-problem.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';

describe('the storage of the agent', () => {
  it('announces a problem when it begins, changes and ends, and writes again every ten seconds', async () => {
    const clock = createSteppingClock();
    const announced: string[] = [];
    let stateProblem: string | undefined = 'no room for record.json';
    let journalProblem: string | undefined;
    let tries = 0;
    const storage = new Storage({
      state: {
        problem: () => stateProblem,
        retry: () => {
          tries += 1;
          return Promise.resolve();
        },
      },
      locator: { store: () => ({ mover: { problem: () => journalProblem, retry: () => Promise.resolve() } }) },
      nodeName: 'node-a',
      announce: ({ reason, message }) => announced.push(`${reason} ${message}`),
      clock,
    });
    await storage.retry();
    await storage.retry();
    assert.equal(tries, 1);
    assert.equal(storage.problem(), 'no room for record.json');
    journalProblem = 'the journal is read-only';
    stateProblem = undefined;
    clock.pass(10_000);
    await storage.retry();
    assert.equal(tries, 2);
    journalProblem = undefined;
    await storage.retry();
    await storage.retry();
    assert.deepEqual(
      announced.map((each) => /^\w+|record.json|read-only/g.exec(each)?.[0]),
      ['StateNotSaved', 'StateNotSaved', 'StateSaved'],
    );
    assert.match(announced.join('\n'), /no room for record.json[^]*the journal is read-only/);
  });
});
