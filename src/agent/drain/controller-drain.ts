import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { OwnMaintenances } from '../cluster/own-maintenances.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import { drainedFor, type Drainer } from './drainer.ts';
import type { KubeletInterceptor } from '../static-pods/interceptor.ts';
import { isRunning } from '../static-pods/view.ts';
import { CONTROLLER_NAMESPACE } from '../../api/lease.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { agentNodeOf } from '../../decide/maintenance/maintenance.ts';
import { nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import { isOwnController } from '../../decide/own-controller.ts';
import { podTypeOf } from '../../decide/pod.ts';
import { goesDownNow } from '../../decide/shutdown/machine-going-down.ts';
import { effectiveDrains } from '../../decide/static-pod/parked.ts';
import { goesDownSince } from '../../decide/staying-pod/returning-pod.ts';
import { describeError } from '../../errors.ts';
import { deleteDisrupted } from '../../kube/eviction/evictor.ts';
import { keyOf, objectPath, PODS, sendForObject } from '../../kube/resource.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';

/**
 * Ends the pods of this node that nobody but budgets keeps, where the controller says that these are not asked, and replicas of
 * the controller in any case: these hold no machine. Returns what keeps a pod from being ended, which the next pass tries again.
 */
type EndBlockedPods = (maintenances: readonly NodeMaintenance[], signal: AbortSignal) => Promise<string | undefined>;

/** A pass that takes longer ends. */
const PASS_MS = 5_000;

interface BlockedPod {
  readonly namespace: string;
  readonly name: string;
  readonly isBudgetAsked: boolean;
}

/** The pods that nobody but budgets keeps on a machine that goes down, as its maintenances say. */
function blockedOn(maintenances: readonly NodeMaintenance[], node: string): readonly BlockedPod[] {
  return maintenances
    .filter((each) => goesDownNow(each) === node)
    .map(({ status }) => nodeStatusOf(status, node))
    .flatMap(({ podsBlocking = [], budgetsNotAsked } = { nodeRef: { name: node } }) => {
      return podsBlocking.map((pod) => ({ ...pod, isBudgetAsked: budgetsNotAsked !== true }));
    })
    .filter(({ reason }) => reason === 'PodDisruptionBudget' || reason === 'EvictionFailed')
    .filter(({ isBudgetAsked, namespace }) => !isBudgetAsked || namespace === CONTROLLER_NAMESPACE);
}

/** Creates it; a node may delete the pods that are bound to it, and the controller may not. */
export function endBlockedPods({
  client,
  clock,
  log,
  nodeName,
}: Pick<ClusterDependencies, 'client' | 'clock' | 'log' | 'nodeName'>): EndBlockedPods {
  const warnOnce = createLogOnce((reason) => {
    log.warn({ reason }, 'cannot end a pod whose budget is not asked, trying again');
  });
  const endPod = async ({ isBudgetAsked, ...metadata }: BlockedPod, signal: AbortSignal) => {
    const read = { method: 'GET', path: objectPath(PODS, metadata) } as const;
    const pod = await sendForObject<Pod>(client, read, [404], signal);
    if (pod === undefined || (isBudgetAsked && !isOwnController(pod))) return;
    if (pod.spec.nodeName !== nodeName || podTypeOf(pod) !== 'Default') return;
    if (pod.metadata.deletionTimestamp !== undefined) return;
    if (await deleteDisrupted(client, pod, { now: clock.now() }, signal))
      log.info({ pod: keyOf(pod) }, 'ended a pod whose budget is not asked');
  };
  return async (maintenances, outer) => {
    const signal = AbortSignal.any([outer, AbortSignal.timeout(PASS_MS)]);
    let reason: string | undefined;
    for (const each of blockedOn(maintenances, nodeName)) {
      try {
        await endPod(each, signal);
      } catch (error) {
        outer.throwIfAborted();
        reason = describeError(error);
      }
    }
    warnOnce(reason);
    return reason;
  };
}

/** Its cordon is read again after this time. */
const NODE_AGE_MS = 15_000;

/** The drain by the controller: the agent lets static pods leave when their EvictionRequests ask its interceptor. */
export function createControllerDrainer(
  own: Pick<OwnMaintenances, 'isDrained' | 'awaitsVolumes'>,
  interceptor: Pick<KubeletInterceptor, 'observe'>,
  endBlocked: EndBlockedPods,
  ownNode: Pick<OwnNode, 'observe'>,
): Drainer {
  return {
    pass: async ({ record, view, retention, keepParked, maintenances }, signal) => {
      const drains = effectiveDrains(retention);
      const name = drainedFor(record.phase);
      const wantsMirrors = view.parked.some((pod) => pod.thisBoot && !keepParked(pod));
      const { unasked, ...intent } = await interceptor.observe(view, drains, wantsMirrors, signal);
      const refusal = await endBlocked(maintenances, signal);
      const seen = name === undefined ? undefined : await ownNode.observe(NODE_AGE_MS, signal);
      const object = seen?.kind === 'present' ? seen.node : undefined;
      const shutdown = maintenances.find(({ metadata }) => metadata.name === name);
      const node = shutdown === undefined ? undefined : agentNodeOf(shutdown);
      const downSince = node === undefined ? undefined : goesDownSince(maintenances, { name: node }, object);
      // The API server does not know of every static pod.
      const isEnding = view.live !== undefined && view.parked.some((pod) => isRunning(pod, view));
      const isDone = name !== undefined && own.isDrained(name);
      const drained = isDone && unasked.length === 0 && !isEnding;
      const what = `the API server does not tell of the static pods ${unasked.join(', ')}`;
      const stalled = isDone && unasked.length > 0 ? what : refusal;
      const awaitsVolumes = name !== undefined && own.awaitsVolumes(name);
      return { ...intent, stalled, drained, waiting: [], downSince, awaitsVolumes };
    },
    stop: () => undefined,
  };
}
