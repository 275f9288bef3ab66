/** How machines waited for their turn to reboot, as their maintenances and nodes had it. */
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node } from '../../../src/api/pod.ts';
import type { Change } from '../../chaos/timeline.ts';
import { inOrder } from './history.ts';

/** A machine that said that it waits for its turn. */
export interface TurnWait {
  readonly node: string;
  readonly from: number;
  /** When it waited no longer; undefined while it does. */
  readonly to: number | undefined;
  /** What it said first. */
  readonly said: string;
}

/** The node is cordoned and the wait is over in two writes. */
const BETWEEN_WRITES_MS = 3_000;

function saidBy({ spec, status }: NodeMaintenance): string | undefined {
  const drained = status?.conditions?.find(({ type }) => type === 'Drained');
  return spec.stage === 'Drain' && drained?.reason === 'WaitingForTurn' ? drained.message : undefined;
}

/** All waits for a turn, in the order in which they began; a maintenance of an agent has the name of its node in its own. */
export function turnWaitsOf(changes: readonly Change[], nodes: readonly string[]): readonly TurnWait[] {
  const open = new Map<string, TurnWait>();
  const over: TurnWait[] = [];
  for (const { kind, key, object, at, deleted } of inOrder(changes)) {
    if (kind !== 'NodeMaintenance') continue;
    const said = deleted ? undefined : saidBy(object as NodeMaintenance);
    const known = open.get(key);
    const node = nodes.find((name) => key.includes(name)) ?? key;
    if (said !== undefined && known === undefined) open.set(key, { node, from: at, to: undefined, said });
    if (said === undefined && known !== undefined) {
      over.push({ ...known, to: at });
      open.delete(key);
    }
  }
  return [...over, ...open.values()].toSorted((a, b) => a.from - b.from);
}

/** The nodes that were cordoned while their machine waited for its turn, with for how many milliseconds. */
export function cordonedWhileWaiting(waits: readonly TurnWait[], changes: readonly Change[]): readonly string[] {
  const ordered = inOrder(changes).filter(({ kind }) => kind === 'Node');
  const last = ordered.at(-1)?.at ?? 0;
  return waits.flatMap(({ node, from, to = last }) => {
    const own = ordered.filter(({ key }) => key === node);
    const times = own.flatMap(({ object, at }, index) => {
      if ((object as Node).spec?.unschedulable !== true) return [];
      const until = Math.min(to, own[index + 1]?.at ?? last);
      return Math.max(0, until - Math.max(from, at));
    });
    const ms = times.reduce((sum, each) => sum + each, 0);
    return ms > BETWEEN_WRITES_MS ? [`${node} was cordoned for ${ms} ms while it waited`] : [];
  });
}
