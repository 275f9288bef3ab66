/** Machines of a cluster, or all of them, are switched off at once, as at a power failure, and how that is judged. */
import assert from 'node:assert/strict';
import { waitFor } from '../../support/wait-for.ts';
import type { Machines } from './machines.ts';
import { assertInOrder, assertNothingForced, assertSaidNotAsked, beginStory, tooFew } from './story.ts';

/** A node that has just joined counts as one that could take pods for five minutes. */
const DOWN_MS = 480_000;
const TAINT = 'for=others:NoExecute';

export interface PowerOffCase {
  readonly name: string;
  readonly machines: readonly string[];
  readonly goDown: readonly string[];
  /** The machine that takes no pods but those of DaemonSets. */
  readonly tainted?: string;
  /** Whether the budgets protect something. */
  readonly isAsked: boolean;
}

/** Puts all machines of the case up, with all pods on those that may have them. */
async function prepare(machines: Machines, { machines: names, goDown, tainted }: PowerOffCase): Promise<void> {
  for (const each of names) await machines.untaint(each);
  if (tainted !== undefined) await machines.controlPlane.kubectl(['taint', 'node', tainted, TAINT]);
  for (const each of names) if (machines.machine(each).system().hasEnded()) await machines.machine(each).boot();
  await machines.untilSettled(tainted === undefined ? names : goDown);
  for (const each of goDown) await machines.clearWitness(each);
}

/** Switches the machines of the case off at once, and checks that all go down in order and what became of the budgets. */
export async function playPowerOff(machines: Machines, one: PowerOffCase, signal: AbortSignal): Promise<void> {
  await prepare(machines, one);
  const { name, goDown, isAsked } = one;
  const story = beginStory(name, machines);
  const ends = await Promise.allSettled(
    goDown.map(async (machine) => {
      const system = machines.machine(machine).system();
      await system.must('systemctl poweroff');
      story.mark(`${machine}: systemctl poweroff`);
      await waitFor(`${machine} is off`, () => system.hasEnded(), { timeoutMs: DOWN_MS, signal });
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
}
