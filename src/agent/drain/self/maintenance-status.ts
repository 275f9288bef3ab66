import type { EvictionRequest } from '../../../api/eviction-request.ts';
import type { BlockingPod, NodeMaintenance, NodeMaintenanceStatus } from '../../../api/node-maintenance.ts';
import type { Pod } from '../../../api/pod.ts';
import { drainPodOf } from '../../../decide/pod.ts';
import { estimateDrain } from '../../../decide/drain/estimate.ts';
import { isKept, keptBy } from '../../../decide/kept-pods/kept-pods.ts';
import { planOf } from '../../../decide/maintenance/drain-plan.ts';
import { evictingUids, type SelfDrain } from '../../../decide/drain/self-drain.ts';
import { isWithin } from '../../../decide/maintenance/drain-targets.ts';
import { begunNode, drainBegan } from '../../../decide/maintenance/recorded-node.ts';
import type { NodeResolution } from '../../../decide/drain/resolution.ts';
import { drainStatus, type NodeObservation } from '../../../decide/drain/status.ts';
import { BY_AGENT } from '../../../decide/shutdown/drainer.ts';
import type { Clock } from '../../../host/clock.ts';
import { createMaintenanceStatusWriter } from '../../../kube/maintenance/status.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';
import type { ProgressObserver } from '../take-over.ts';

/** The pods of the node as the status counts them. */
interface ObservedPods {
  readonly list: readonly Pod[];
  readonly blocking: readonly BlockingPod[];
  readonly requests: readonly EvictionRequest[];
}

/** Less often than a controller writes: all nodes of a cluster may drain themselves at once. */
const COUNT_EVERY_MS = 5_000;
/** With the words that follow it, the message is no longer than a node may write. */
const MAX_MESSAGE = 900;

function statusOf(
  { maintenance, resolution }: SelfDrain,
  { list, blocking, requests }: ObservedPods,
  { why, now }: { readonly why: string; readonly now: number },
): NodeMaintenanceStatus {
  const plan = planOf(maintenance);
  const byPod = new Map(requests.map((request) => [request.spec.target.pod.uid, request]));
  const requestOf = ({ metadata }: Pod): EvictionRequest | undefined => byPod.get(metadata.uid ?? '');
  const evicting = evictingUids([{ maintenance, resolution }]);
  const isEvicting = ({ metadata }: Pod): boolean => evicting.has(metadata.uid ?? '');
  const leaving = list.filter(isEvicting);
  const keep = keptBy(maintenance);
  const pending = list.filter((pod) => !isEvicting(pod) && !isKept(keep, drainPodOf(pod)));
  const nodes = resolution.nodes.map((node) => {
    const message = node.message.slice(0, MAX_MESSAGE);
    return { ...node, message: `${message} (${BY_AGENT}: ${why})` };
  });
  // Without a controller nobody makes requests: what is targeted is what this agent evicts.
  const evacuating = leaving.length;
  const observe = (node: NodeResolution): NodeObservation => {
    const times = { began: drainBegan(maintenance, node) ?? now, now };
    const expectedFinishAt = estimateDrain(plan, { evicting: leaving, pending, requestOf }, times);
    return { evacuating, blocking, expectedFinishAt, overLimit: 0, ungatedDaemonSets: [] };
  };
  return drainStatus(maintenance, { ...resolution, nodes }, observe, now);
}

/** Whether the targets that the drain has come to are recorded already. */
function areTargetsRecorded({ maintenance, resolution }: SelfDrain): boolean {
  return resolution.nodes.every((node) => {
    const known = begunNode(maintenance.status, node);
    return known !== undefined && isWithin(node.drainTargets, known.drainTargets ?? []);
  });
}

/** The status of maintenances of this node alone, kept as the controller would, with the node's identity. */
export class SelfStatus {
  readonly #clock: Clock;
  readonly #controller: Pick<ProgressObserver, 'whyAway' | 'isBesideController'>;
  readonly #writer;

  /** `controller` tells why the agent drains its node. */
  constructor(
    { client, clock }: Pick<ClusterDependencies, 'client' | 'clock'>,
    controller: Pick<ProgressObserver, 'whyAway' | 'isBesideController'>,
  ) {
    this.#clock = clock;
    this.#controller = controller;
    this.#writer = createMaintenanceStatusWriter(client, clock, COUNT_EVERY_MS);
  }

  /** The maintenances as our last writes left them, where the cache does not show those yet. */
  latest(maintenances: readonly NodeMaintenance[]): readonly NodeMaintenance[] {
    return maintenances.map((copy) => this.#writer.latest(copy));
  }

  /**
   * Writes what the drains have come to; `pods` are those that are left on the node. `mayWrite` is asked right before.
   * Returns whether the targets that the drains go by are recorded. Beside a controller that lives nothing else is written: of
   * two writers each would find that the other one has changed its words.
   */
  async write(
    drains: readonly SelfDrain[],
    pods: ObservedPods,
    mayWrite: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<boolean> {
    for (const drain of drains) {
      if (this.#controller.isBesideController() && areTargetsRecorded(drain)) continue;
      const status = statusOf(drain, pods, { why: this.#controller.whyAway(), now: this.#clock.now() });
      const { kind } = await this.#writer.write(drain.maintenance, status, signal, mayWrite);
      if (kind === 'not-recorded') return false;
    }
    return true;
  }
}
