/**
 * A pod on a real machine calls its process `kubelet` and names a static pod directory of its own, beside which a link
 * leads to where root's files are. The agent, under its real unit, must not believe it: it drains the real static pods in
 * order and moves nothing else.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endMallory, LOOT, type MalloryShape, PREY, startMallory } from './machine/mallory.ts';
import type { Machine } from './machine/machine.ts';
import { runCase } from './machine/shutdown-case.ts';
import { standaloneNode } from './machine/standalone-node.ts';

const CASES: readonly [string, MalloryShape, RegExp][] = [
  ['root in its container', { user: 0, hostPid: false }, /uid=0 reason="it runs in a PID namespace of its own/],
  ['a user', { user: 1000, hostPid: false }, /uid=1000 reason="its user ids are 1000, 1000, 1000, 1000/],
  ['root that sees all processes', { user: 0, hostPid: true }, /uid=0 reason="it runs in a container \(\/kubepods/],
];
const REFUSED = 'a process that calls itself kubelet is not believed';

describe('a pod whose process calls itself kubelet, on a real machine', () => {
  let machine: Machine;
  let node: string;
  let prey: string;

  before(async () => {
    machine = await standaloneNode(new AbortController().signal);
    node = (JSON.parse(await machine.must('nodemaint status -o json')) as { node: string }).node;
    prey = await machine.must(`ls -la ${PREY}`);
  });
  after(async () => {
    await machine?.[Symbol.asyncDispose]();
  });

  for (const [name, shape, reason] of CASES) {
    it(`the agent does not believe a process called kubelet that is ${name}: it moves nothing for it, and drains in order`, async (t) => {
      await startMallory(machine, node, shape);
      const since = (await machine.must('date +%s')).trim();
      const went = runCase(machine, { name: 'reboot', begin: 'systemctl reboot', ends: 'reboot' });
      t.diagnostic(await went);
      const journal = await machine.must(`journalctl -b -1 --since @${since} -u nodemaint -o cat --no-pager`);
      for (const line of journal.split('\n').filter((each) => /not believed|parked manifest|agent started/.test(each)))
        t.diagnostic(line);
      assert.equal(await machine.must(`ls -la ${PREY}`), prey);
      assert.equal(journal.split('\n').filter((line) => line.includes(LOOT)).length, 0, journal);
      const refusals = journal.split('\n').filter((line) => line.includes(REFUSED));
      assert.equal(refusals.length, 1, journal);
      assert.match(refusals[0] ?? '', reason);
      await endMallory(machine);
    });
  }
});
