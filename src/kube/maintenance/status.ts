import { isDeepStrictEqual } from 'node:util';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../api/node-maintenance.ts';
import { boundedStatus } from '../../decide/drain/bounded-status.ts';
import { newlyBlocked } from '../../decide/node/events.ts';
import { statusChange } from '../../decide/drain/status-change.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../client.ts';
import { createRecentWrites } from '../read-your-writes.ts';
import { NODE_MAINTENANCES, objectPath } from '../resource.ts';
import { sendForObject } from '../request.ts';

/** What became of a status. */
export type StatusOutcome =
  /** The API server has it; what there was no room for is left out. */
  | { readonly kind: 'recorded'; readonly status: NodeMaintenanceStatus }
  /** Nothing differs by which others act, and a status was written a short time ago. */
  | { readonly kind: 'postponed'; readonly againMs: number }
  /** The maintenance changed meanwhile or is gone, or no write was allowed: what follows from it must not be done. */
  | { readonly kind: 'not-recorded' };

/** Writes statuses of maintenances, each only if no other client has written it since it was decided on. */
export interface MaintenanceStatusWriter {
  /** The maintenance as our last write left it, where the copy of the cache does not show that yet. */
  latest(copy: NodeMaintenance): NodeMaintenance;
  /** As `latest`, for one that is only read and not decided on. */
  peek(copy: NodeMaintenance): NodeMaintenance;
  /**
   * Writes the fields of `whole` that differ, as far as there is room for them (`boundedStatus`). `mayWrite` is asked right
   * before. Throws API_UNREACHABLE and API_REFUSED.
   */
  write(
    maintenance: NodeMaintenance,
    whole: NodeMaintenanceStatus,
    signal: AbortSignal,
    mayWrite?: () => Promise<boolean>,
  ): Promise<StatusOutcome>;
  forget(name: string): void;
}

/** The counts of more nodes are written less often, in proportion, so that the bytes written in a second are bounded. */
const NODES_AT_ONCE = 200;

/**
 * So are those of more drains, up to this multiple of the time: people who watch one drain see each second. Hundreds of drains at
 * once keep an API server busy for minutes, and counts that were written meanwhile would make that longer.
 */
const DRAINS_AT_ONCE = 5;
const MOST_TIMES = 120;

/** A status that only repeats itself in other words is written after this time, which is that of a sign of life. */
const REPEAT_EVERY_MS = 3 * 60_000;

/**
 * Each pod that leaves changes a count: `countEveryMs` is the time between two writes that say nothing else, where few drains
 * are under way; `drains` tells how many there are.
 */
export function createMaintenanceStatusWriter(
  client: KubeClient,
  clock: Clock,
  countEveryMs: number,
  drains: () => number = () => 1,
): MaintenanceStatusWriter {
  const ownWrites = createRecentWrites<NodeMaintenance>();
  /** By name: the copy that was decided on last. */
  const copies = new Map<string, NodeMaintenance>();
  /** By name, on the monotonic clock. */
  const writtenAt = new Map<string, number>();
  return {
    latest: (copy) => {
      copies.set(copy.metadata.name, copy);
      return ownWrites.latest(copy.metadata.name, copy) ?? copy;
    },
    peek: (copy) => ownWrites.latest(copy.metadata.name, copy) ?? copy,
    write: async (maintenance, whole, signal, mayWrite) => {
      const { name, resourceVersion } = maintenance.metadata;
      const status = boundedStatus(maintenance, whole);
      if (isDeepStrictEqual({ ...maintenance.status, ...status }, maintenance.status))
        return { kind: 'recorded', status };
      // A new reason for which pods block is no mere count: somebody has to do something about it.
      const isPressing = newlyBlocked(maintenance.status ?? {}, status).length > 0;
      const change = statusChange(maintenance.status, status);
      const drainTimes = isPressing ? 1 : Math.min(drains() / DRAINS_AT_ONCE, MOST_TIMES);
      const countMs = countEveryMs * Math.max(1, (whole.nodeStatuses?.length ?? 0) / NODES_AT_ONCE, drainTimes);
      const everyMs = change === 'repetition' && !isPressing ? Math.max(REPEAT_EVERY_MS, countMs) : countMs;
      const againMs = (writtenAt.get(name) ?? -Infinity) + everyMs - clock.monotonic();
      if (againMs > 0 && change !== 'significant') return { kind: 'postponed', againMs };
      if (mayWrite !== undefined && !(await mayWrite())) return { kind: 'not-recorded' };
      const path = objectPath(NODE_MAINTENANCES, maintenance.metadata, 'status');
      const body = { metadata: { resourceVersion }, status };
      const patch = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
      const fresh = await sendForObject<NodeMaintenance>(client, patch, [404, 409], signal);
      if (fresh === undefined) return { kind: 'not-recorded' };
      writtenAt.set(name, clock.monotonic());
      ownWrites.note(name, copies.get(name), fresh);
      return { kind: 'recorded', status };
    },
    forget: (name) => {
      copies.delete(name);
      writtenAt.delete(name);
      ownWrites.forget(name);
    },
  };
}
