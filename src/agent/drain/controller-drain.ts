import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { OwnMaintenances } from '../cluster/own-maintenances.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import { drainedFor, type Drainer, type DrainerFacts, type DrainPass } from './drainer.ts';
import type { KubeletInterceptor } from '../static-pods/interceptor.ts';
import { isRunning } from '../static-pods/view.ts';
import { CONTROLLER_NAMESPACE } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { agentNodeOf } from '../../decide/maintenance/maintenance.ts';
import { nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import { isOwnController, podTypeOf } from '../../decide/pod.ts';
import { goesDownNow } from '../../decide/shutdown/machine-going-down.ts';
import { effectiveDrains } from '../../decide/static-pod/parked.ts';
import { goesDownSince } from '../../decide/staying-pod/returning-pod.ts';
import { describeError } from '../../errors.ts';
import { deleteDisrupted } from '../../kube/eviction/evictor.ts';
import { keyOf, objectPath, PODS } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import { createWarnOnce } from '../../telemetry/log-once.ts';

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

/** Its cordon is read again after this time. */
const NODE_AGE_MS = 15_000;

interface ControllerDrainParts {
  readonly own: Pick<OwnMaintenances, 'isDrained' | 'awaitsVolumes'>;
  readonly ownNode: Pick<OwnNode, 'observe'>;
  readonly interceptor: Pick<KubeletInterceptor, 'observe'>;
}

/** The drain by the controller: the agent lets static pods leave when their EvictionRequests ask its interceptor. */
export class ControllerDrainer implements Drainer {
  readonly #dependencies: Pick<ClusterDependencies, 'client' | 'clock' | 'log' | 'nodeName'>;
  readonly #parts: ControllerDrainParts;
  readonly #warnOnce;

  constructor(
    dependencies: Pick<ClusterDependencies, 'client' | 'clock' | 'log' | 'nodeName'>,
    parts: ControllerDrainParts,
  ) {
    this.#dependencies = dependencies;
    this.#parts = parts;
    this.#warnOnce = createWarnOnce(dependencies.log, 'cannot end a pod whose budget is not asked, trying again');
  }

  async pass(
    { record, view, retention, keepParked, maintenances }: DrainerFacts,
    signal: AbortSignal,
  ): Promise<DrainPass> {
    const { own, ownNode, interceptor } = this.#parts;
    const drains = effectiveDrains(retention);
    const name = drainedFor(record.phase);
    const wantsMirrors = view.parked.some((pod) => pod.thisBoot && !keepParked(pod));
    const { unasked, ...intent } = await interceptor.observe(view, drains, wantsMirrors, signal);
    const refusal = await this.#endBlocked(maintenances, signal);
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
  }

  /**
   * Ends the pods of this node that nobody but budgets keeps, where the controller says that these are not asked, and replicas of
   * the controller in any case: these hold no machine. Returns what keeps a pod from being ended, which the next pass tries again.
   */
  async #endBlocked(maintenances: readonly NodeMaintenance[], outer: AbortSignal): Promise<string | undefined> {
    const signal = AbortSignal.any([outer, AbortSignal.timeout(PASS_MS)]);
    let reason: string | undefined;
    for (const each of blockedOn(maintenances, this.#dependencies.nodeName)) {
      try {
        await this.#endPod(each, signal);
      } catch (error) {
        outer.throwIfAborted();
        reason = describeError(error);
      }
    }
    this.#warnOnce(reason);
    return reason;
  }

  /** A node may delete the pods that are bound to it, and the controller may not. */
  async #endPod({ isBudgetAsked, ...metadata }: BlockedPod, signal: AbortSignal): Promise<void> {
    const { client, clock, log, nodeName } = this.#dependencies;
    const read = { method: 'GET', path: objectPath(PODS, metadata) } as const;
    const pod = await sendForObject<Pod>(client, read, [404], signal);
    if (pod === undefined || (isBudgetAsked && !isOwnController(pod))) return;
    if (pod.spec.nodeName !== nodeName || podTypeOf(pod) !== 'Default') return;
    if (pod.metadata.deletionTimestamp !== undefined) return;
    if (await deleteDisrupted(client, pod, { now: clock.now() }, signal))
      log.info({ pod: keyOf(pod) }, 'ended a pod whose budget is not asked');
  }
}
