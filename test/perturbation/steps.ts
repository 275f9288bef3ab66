/** What several scenarios do. */
import { checkStatus } from '../chaos/invariants/status.ts';
import { leftOf } from './judge.ts';
import type { Stage } from './stage.ts';

/** Waits until the node is drained, and what the statuses say is true. */
export async function untilDrained(stage: Stage, name: string): Promise<void> {
  await stage.until(`${name} is Drained`, () => stage.isDrained(name));
  await stage.until(`what the statuses say is true: ${name} is Drained`, () => checkStatus(stage.part).length === 0);
}

/** Completes the maintenances one after the other, and waits until nothing is left of them. */
export async function finish(stage: Stage, ...names: readonly string[]): Promise<void> {
  for (const name of names) await stage.complete(name);
  const isComplete = (name: string): boolean =>
    stage.maintenance(name)?.status?.stageStatuses?.some((each) => each.name === 'Complete') === true;
  await stage.until('the maintenances are complete', () => names.every(isComplete));
  await stage.until('everything is given back', async () => (await leftOf(stage)).length === 0);
}

/** Whether a drain asks for a pod of the plan. */
export function isAsking({ part }: Stage): boolean {
  return part.requests().some(({ spec }) => (spec.requesters ?? []).length > 0);
}
