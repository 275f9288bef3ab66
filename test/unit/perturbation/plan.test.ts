import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { createRandom } from '../../chaos/random.ts';
import { drawPairs, type Moment, planText, plansOf, readPlan } from '../../perturbation/plan.ts';
import { loadScenarios } from '../../perturbation/scenarios.ts';

const WRITE: Moment = { actor: 'controller', kind: 'write', what: 'PATCH nodes/n1', nth: 2 };
const EVENT: Moment = { actor: 'controller', kind: 'event', what: 'pods/plain', nth: 1 };

describe('a plan of the perturbation test', () => {
  it('there is one for each moment and each thing that can become of it', () => {
    assert.deepEqual(plansOf('drain', [WRITE, EVENT]).map(planText), [
      'drain | controller | PATCH nodes/n1 #2 | crash before',
      'drain | controller | PATCH nodes/n1 #2 | crash after',
      'drain | controller | PATCH nodes/n1 #2 | answer lost',
      'drain | controller | pods/plain #1 | held',
      'drain | controller | pods/plain #1 | skipped',
      'drain | controller | pods/plain #1 | told by a list',
      'drain | controller | pods/plain #1 | list from the past',
    ]);
  });

  it('what is printed is read again', () => {
    for (const plan of plansOf('drain', [WRITE, EVENT])) assert.deepEqual(readPlan(planText(plan)), plan);
  });

  it('a pair is of two moments in the order of the recording, and is read again', () => {
    for (const plan of drawPairs('drain', [WRITE, EVENT], 40, createRandom(1))) {
      assert.equal(plan.perturbations.length, 2);
      assert.deepEqual(readPlan(planText(plan)), plan);
      const kinds = plan.perturbations.map(({ kind }) => kind).join(' ');
      assert.notEqual(kinds, 'event write');
    }
  });

  it('a line that is none is refused', () => {
    for (const line of [
      '',
      'drain',
      'drain | controller | pods/plain | held',
      'drain | controller | pods/plain #1 | no',
      'drain | controller | pods/plain #1 | held | controller',
    ]) {
      assert.throws(() => readPlan(line), /not a plan/);
    }
  });

  it('those that are always played are of scenarios that there are', async () => {
    const file = path.join(import.meta.dirname, '../../perturbation/plans.json');
    const lines = JSON.parse(await readFile(file, 'utf8')) as readonly string[];
    const scenarios = await loadScenarios();
    for (const { scenario } of lines.map(readPlan)) assert.ok(scenario in scenarios, scenario);
  });
});
