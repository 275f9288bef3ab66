/**
 * All machines of a cluster, or all but one, are switched off at once, as at a power failure. Applications with a
 * PodDisruptionBudget, one of them with volumes, and the controller itself are on them. All of them go down in order.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isThorough } from '../support/thorough.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Machines, startMachines } from './machines/machines.ts';
import { assertInOrder, assertNothingForced, assertSaidNotAsked, beginStory, tooFew } from './machines/story.ts';

const THREE = ['node-a', 'node-b', 'node-c'];
const FOURTH = 'node-d';
const FOUR = [...THREE, FOURTH];
/** A node that has just joined counts as one that could take pods for five minutes. */
const DOWN_MS = 480_000;
const TAINT = 'for=others:NoExecute';

interface PowerOffCase {
  readonly name: string;
  readonly machines: readonly string[];
  readonly goDown: readonly string[];
  /** Whether the fourth machine takes no pods but those of DaemonSets. */
  readonly isTainted?: boolean;
  /** Whether the budgets protect something. */
  readonly isAsked: boolean;
}

const ALL_OF_THREE: PowerOffCase = {
  name: 'no machine stays, and no budget is asked',
  machines: THREE,
  goDown: THREE,
  isAsked: false,
};
/** The machines go down in each, and the next one begins when they are back. */
const CASES_OF_FOUR: readonly PowerOffCase[] = [
  { name: 'one machine stays, and no budget is broken', machines: FOUR, goDown: THREE, isAsked: true },
  {
    name: 'one machine stays, takes no pods of others, and no budget is asked',
    machines: FOUR,
    goDown: THREE,
    isTainted: true,
    isAsked: false,
  },
  { ...ALL_OF_THREE, machines: FOUR, goDown: FOUR },
];

describe('all machines of a cluster are switched off at once', () => {
  const isWhole = isThorough('machines are switched off at once, and another one stays');
  const cases = isWhole ? CASES_OF_FOUR : [ALL_OF_THREE];
  const signal = AbortSignal.timeout(2_300_000);
  const stack = new AsyncDisposableStack();
  let machines: Machines;

  before(async () => {
    const started = performance.now();
    const names = cases[0]?.machines ?? [];
    machines = stack.use(await startMachines({ names, firstNumber: 21, attacher: 'outside' }, signal));
    await machines.load();
    console.log(`all pods run after ${Math.round((performance.now() - started) / 1000)} s`);
  });
  after(() => stack.disposeAsync());

  const isDown = (name: string): boolean => machines.machine(name).system().hasEnded();

  /** Puts all machines of the case up, with all pods on those that may have them. */
  async function prepare({ machines: names, goDown, isTainted = false }: PowerOffCase): Promise<void> {
    if (isTainted) await machines.controlPlane.kubectl(['taint', 'node', FOURTH, TAINT]);
    else if (names.includes(FOURTH)) await machines.untaint(FOURTH);
    for (const each of names) if (isDown(each)) await machines.machine(each).boot();
    await machines.untilSettled(isTainted ? goDown : names);
    for (const each of goDown) await machines.clearWitness(each);
  }

  for (const each of cases)
    it(`the machines go down in order; ${each.name}`, async () => {
      await prepare(each);
      const { name, goDown, isAsked } = each;
      const story = beginStory(name, machines);
      const ends = await Promise.allSettled(
        goDown.map(async (machine) => {
          await machines.machine(machine).system().must('systemctl poweroff');
          story.mark(`${machine}: systemctl poweroff`);
          await waitFor(`${machine} is off`, () => isDown(machine), { timeoutMs: DOWN_MS, signal });
          story.mark(`${machine} is off`);
        }),
      );
      const problems = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
      const said = problems.length > 0 ? await machines.describe() : '';
      const told = await story.end();
      assert.deepEqual(problems, [], said);
      for (const machine of goDown) assertInOrder(machine, await machines.witnessed(machine));
      assertNothingForced(told);
      if (isAsked) assert.deepEqual(tooFew(told), []);
      else await assertSaidNotAsked(machines, told);
    });
});
