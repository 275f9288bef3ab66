import type { KubeObject } from '../../api/meta.ts';
import { SHUTDOWN_RESULTS } from '../../decide/presence/last-shutdown.ts';
import { timeOf } from '../../decide/time.ts';
import { FLEET_STATES, fleetNode } from '../fleet/node-state.ts';

/** What is counted of all nodes at one moment, from what their agents say on them. */
export interface NodeCounts {
  /** Nodes by state, as `nodemaint nodes` shows them. */
  readonly states: ReadonlyMap<string, number>;
  /** Nodes whose last shutdown ended within the past hour, by its result. */
  readonly shutDown: ReadonlyMap<string, number>;
}

const RECENT_MS = 60 * 60_000;

/** Counts the nodes at `now`, in milliseconds since the epoch; `version` is the one that agents should have. */
export function countNodes(nodes: readonly KubeObject[], version: string, now: number): NodeCounts {
  // A value that was there before and is not any more is 0, and does not vanish.
  const states = new Map<string, number>(FLEET_STATES.map((state) => [state, 0]));
  const shutDown = new Map<string, number>(SHUTDOWN_RESULTS.map((result) => [result, 0]));
  const add = (counts: Map<string, number>, key: string): void => {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  for (const { metadata } of nodes) {
    // The words of the node's own state are only in the reason, which is not counted.
    const { state, agent } = fleetNode({ metadata, nodeStatus: '' }, version, now);
    add(states, state);
    const ended = timeOf(agent?.last?.at);
    if (agent?.last !== undefined && ended !== undefined && now - ended < RECENT_MS) add(shutDown, agent.last.result);
  }
  return { states, shutDown };
}
