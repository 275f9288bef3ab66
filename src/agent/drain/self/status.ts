import { isDeepStrictEqual } from 'node:util';
import type { EvictionRequest } from '../../../api/eviction-request.ts';
import type { BlockingPod, NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Pod } from '../../../api/pod.ts';
import { estimateDrain } from '../../../decide/drain/estimate.ts';
import { effectiveDrainPlan } from '../../../decide/drain/plan.ts';
import { drainStatus, isSignificantChange } from '../../../decide/drain/status.ts';
import type { SelfDrain } from '../../../decide/drain/self-drain.ts';
import { createRecentWrites } from '../../../kube/read-your-writes.ts';
import { NODE_MAINTENANCES, objectPath, sendForObject } from '../../../kube/resource.ts';
import type { ClusterDependencies } from '../../cluster/cluster.ts';

/** Keeps the status of maintenances of this node alone, as the controller would, with the node's identity. */
export interface SelfStatus {
  /** The maintenances as our last writes left them, where the cache does not show those yet. */
  latest(maintenances: readonly NodeMaintenance[]): readonly NodeMaintenance[];
  /**
   * Writes what the drain has come to; `pods` are those that are left on the node. `mayWrite` is asked right before.
   * Returns whether the targets that the drain goes by are recorded.
   */
  write(drain: SelfDrain, pods: ObservedPods, mayWrite: () => Promise<boolean>, signal: AbortSignal): Promise<boolean>;
}

/** The pods of the node as the status counts them. */
export interface ObservedPods {
  readonly list: readonly Pod[];
  readonly blocking: readonly BlockingPod[];
  readonly requestOf: (pod: Pod) => EvictionRequest | undefined;
}

const COUNT_EVERY_MS = 5_000;
/** With what follows it, no longer than a node may write. */
const MAX_MESSAGE = 900;

/** Makes the writer. */
export function createSelfStatus({ client, clock }: ClusterDependencies): SelfStatus {
  const ownWrites = createRecentWrites<NodeMaintenance>();
  const copies = new Map<string, NodeMaintenance>();
  const countedAt = new Map<string, number>();
  return {
    latest: (maintenances) =>
      maintenances.map((copy) => {
        copies.set(copy.metadata.name, copy);
        return ownWrites.latest(copy.metadata.name, copy) ?? copy;
      }),
    write: async ({ maintenance, resolution }, { list, blocking, requestOf }, mayWrite, signal) => {
      const now = clock.now();
      const { name, resourceVersion } = maintenance.metadata;
      const plan = effectiveDrainPlan(maintenance.spec.drainPlan ?? []);
      const evicting = new Set(resolution.nodes.flatMap((node) => node.evicting.map(({ uid }) => uid)));
      const isEvicting = ({ metadata }: Pod): boolean => evicting.has(metadata.uid ?? '');
      const leaving = list.filter(isEvicting);
      const pending = list.filter((pod) => !isEvicting(pod));
      const nodes = resolution.nodes.map((node) => {
        const message = node.message.slice(0, MAX_MESSAGE);
        return { ...node, message: `${message} (by the agent of the node: no controller is alive)` };
      });
      const status = drainStatus(
        maintenance,
        { ...resolution, nodes },
        () => ({
          blocking,
          expectedFinishAt: estimateDrain(plan, leaving, pending, requestOf, now),
          held: 0,
          escapedDaemonSets: [],
        }),
        now,
      );
      if (isDeepStrictEqual({ ...maintenance.status, ...status }, maintenance.status)) return true;
      if (
        !isSignificantChange(maintenance.status, status) &&
        clock.monotonic() - (countedAt.get(name) ?? -Infinity) < COUNT_EVERY_MS
      )
        return true;
      if (!(await mayWrite())) return false;
      const path = objectPath(NODE_MAINTENANCES, maintenance.metadata, 'status');
      const change = { method: 'PATCH', path, body: { metadata: { resourceVersion }, status } } as const;
      const patch = { kind: 'merge' } as const;
      const fresh = await sendForObject<NodeMaintenance>(client, { ...change, patch }, [404, 409], signal);
      if (fresh === undefined) return false;
      countedAt.set(name, clock.monotonic());
      ownWrites.note(name, copies.get(name), fresh);
      return true;
    },
  };
}
