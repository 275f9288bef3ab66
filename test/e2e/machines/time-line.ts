/** What a case did, line by line, as it is pasted into a note: who ended which pod when, and what its budget had then. */
import { endingsOf, inOrder, servingAt, servingOf } from './history.ts';
import { BUDGETS } from './workload.ts';
import type { Change } from '../../chaos/timeline.ts';
import type { Write } from '../../chaos/audit.ts';
import type { KubeObject } from '../../../src/api/meta.ts';

/** Something that the test itself did or saw. */
export interface Mark {
  readonly at: number;
  readonly what: string;
}

interface NodeLike extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

interface MaintenanceLike extends KubeObject {
  readonly spec?: { readonly stage?: string };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
    readonly nodeStatuses?: readonly {
      readonly drainMessage?: string;
      readonly podsBlocking?: readonly { readonly name: string; readonly reason?: string; readonly message?: string }[];
    }[];
  };
}

/** A message without what changes at each attempt, at a length that can be pasted. */
function shortened(message: string): string {
  return message.replace(/^Could not evict a pod .*number of retries: \d+\. /, '').slice(0, 100);
}

/** The states of an object that a reader wants to see, one text each. */
function statesOf({ kind, object }: Change): readonly string[] {
  if (kind === 'Node') {
    const { spec, status } = object as NodeLike;
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
    return [ready === 'True' ? 'Ready' : 'not Ready', spec?.unschedulable === true ? 'cordoned' : 'schedulable'];
  }
  const { spec, status } = object as MaintenanceLike;
  const { drainMessage = '', podsBlocking = [] } = status?.nodeStatuses?.[0] ?? {};
  const drained = status?.conditions?.find(({ type }) => type === 'Drained')?.status === 'True';
  const blocking = podsBlocking.map(
    ({ name, reason = '', message = '' }) => `${name}: ${reason} ${shortened(message)}`,
  );
  return [`stage ${spec?.stage ?? ''}`, drained ? 'Drained' : '', drainMessage, blocking.join('; ')];
}

function marksOfObjects(changes: readonly Change[]): readonly Mark[] {
  const known = new Map<string, readonly string[]>();
  return inOrder(changes).flatMap((change) => {
    if (change.kind !== 'Node' && change.kind !== 'NodeMaintenance') return [];
    const key = `${change.kind === 'Node' ? 'node' : 'maintenance'} ${change.key}`;
    const states = change.deleted ? ['deleted'] : statesOf(change);
    const before = known.get(key);
    known.set(key, states);
    const fresh = states.filter((state) => state !== '' && before?.includes(state) !== true);
    return fresh.map((what) => ({ at: change.at, what: `${key}: ${what}` }));
  });
}

/** The time line of a case that began at `begunAt`. */
export function timeLineOf(
  changes: readonly Change[],
  writes: readonly Write[],
  marks: readonly Mark[],
  begunAt: number,
): readonly string[] {
  const budgets = Object.entries(BUDGETS).map(([app, least]) => ({ app, least, steps: servingOf(app, changes) }));
  const budgetAt = (at: number): string =>
    budgets.map(({ app, least, steps }) => `${app} ${servingAt(steps, at)} (least ${least})`).join(', ');
  const endings = endingsOf(changes, writes).filter(({ toldAt }) => toldAt >= begunAt);
  const ofPods = endings.flatMap(({ pod, node, toldAt, by, graceSec, goneAt, exitCodes }) => [
    { at: toldAt, what: `${node} ${pod} told to end by ${by}, ${graceSec ?? '-'} s; serving: ${budgetAt(toldAt)}` },
    ...(goneAt === undefined ? [] : [{ at: goneAt, what: `${node} ${pod} gone, exit ${exitCodes.join(',')}` }]),
  ]);
  return [...ofPods, ...marksOfObjects(changes), ...marks]
    .filter(({ at }) => at >= begunAt)
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, what }) => `${((at - begunAt) / 1000).toFixed(1).padStart(6)} s  ${what}`);
}
