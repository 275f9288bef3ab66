import { CONTROLLER_NAMESPACE } from '../../api/names.ts';
import type { BlockingPod, NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import { isOwnController, podTypeOf } from '../../decide/pod.ts';
import { goesDownNow } from '../../decide/reboot/turn.ts';
import { describeError } from '../../errors.ts';
import { deleteDisrupted } from '../../kube/eviction/evictor.ts';
import { sendForObject } from '../../kube/request.ts';
import { keyOf, objectPath, PODS } from '../../kube/resource.ts';
import { createWarnOnce } from '../../telemetry/log-once.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';

/** A pass that takes longer ends. */
const PASS_MS = 5_000;

type BlockedPod = Pick<BlockingPod, 'namespace' | 'name'> & { readonly isBudgetAsked: boolean };

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

/** The budgets that are not asked while the controller drains this node: the agent ends the pods that nothing else keeps. */
export class UnaskedBudgets {
  readonly #dependencies: Pick<ClusterDependencies, 'client' | 'clock' | 'log' | 'nodeName'>;
  readonly #warnOnce;

  constructor(dependencies: Pick<ClusterDependencies, 'client' | 'clock' | 'log' | 'nodeName'>) {
    this.#dependencies = dependencies;
    this.#warnOnce = createWarnOnce(dependencies.log, 'cannot end a pod whose budget is not asked, trying again');
  }

  /**
   * Ends the pods of this node that nobody but budgets keeps, where the controller says that these are not asked, and replicas of
   * the controller in any case: these hold no machine. Returns what keeps a pod from being ended, which the next pass tries again.
   */
  async endBlocked(maintenances: readonly NodeMaintenance[], outer: AbortSignal): Promise<string | undefined> {
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
