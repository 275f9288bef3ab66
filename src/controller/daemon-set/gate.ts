import { HELD_FOR_LABEL, MAINTENANCE_GATE } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { daemonSetOf, decideGate, isGated } from '../../decide/daemon-set/gate.ts';
import { drainsOfNode } from '../../decide/maintenance/maintenance.ts';
import type { KubeClient } from '../../kube/client.ts';
import { createGrouping } from '../../kube/cache/grouping.ts';
import { deletePod } from '../../kube/eviction/evictor.ts';
import type { Loop } from '../../kube/loop/loops.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { keyOf, objectPath, PODS } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';

const PARALLEL = 16;

/** The gate of DaemonSet pods, after their creation: one step of one pod, NAMESPACE/NAME. */
export interface DaemonSetGate {
  readonly reconcile: Reconcile;
  /** Notes that a pod changed; returns whether it is to be reconciled. */
  podChanged(key: string): boolean;
  /** Whether any pod of the DaemonSet, NAMESPACE/NAME, is gated. */
  holds(daemonSet: string): boolean;
  /** Notes that a pod changed; returns its DaemonSet where any of its pods is gated, so that its rolling update may stop. */
  rolloutOf(key: string): string | undefined;
}

/**
 * Takes the gate away from a pod, so that it is scheduled and starts. A pod that changed meanwhile makes it fail with
 * API_REFUSED; one that is gone, or has another UID, does not.
 */
export async function releasePod(client: KubeClient, pod: Pod, signal: AbortSignal): Promise<void> {
  const schedulingGates = (pod.spec.schedulingGates ?? []).filter(({ name }) => name !== MAINTENANCE_GATE);
  const { resourceVersion } = pod.metadata;
  // A strategic or SSA patch cannot take away another manager's gate; the list is replaced, guarded by the version.
  const body = { metadata: { resourceVersion, labels: { [HELD_FOR_LABEL]: null } }, spec: { schedulingGates } };
  const path = objectPath(PODS, pod.metadata);
  await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404], signal);
}

/**
 * Makes the gate's loop (KEP-4212, "DaemonSet Controller"). It has a queue of its own and waits for nothing that the
 * drains do: a pod is released as soon as no drain targets it, whatever became of the maintenance.
 */
export function createDaemonSetGate(context: ControllerContext): DaemonSetGate {
  const { client, ungated, log } = context;
  /** Gated pods under their DaemonSets. */
  const gated = createGrouping();

  const act = async (step: 'release' | 'remove', pod: Pod, signal: AbortSignal): Promise<void> => {
    if (step === 'release') {
      await releasePod(client, pod, signal);
      log.info({ pod: keyOf(pod) }, 'released DaemonSet pod');
      return;
    }
    await deletePod(client, pod, {}, signal);
    ungated.removed(pod);
    log.info({ pod: keyOf(pod) }, 'removed DaemonSet pod that was made without the gate');
  };

  const holds = (daemonSet: string): boolean => gated.under(daemonSet).size > 0;
  const podChanged = (key: string): boolean => {
    const pod = context.pods.get(key);
    const isUnbound = pod !== undefined && (pod.spec.nodeName ?? '') === '';
    const daemonSet = isUnbound ? daemonSetOf(pod) : undefined;
    const isHeld = isUnbound && isGated(pod);
    gated.set(key, isHeld && daemonSet !== undefined ? [daemonSet] : []);
    return isHeld || daemonSet !== undefined;
  };

  return {
    podChanged,
    holds,
    rolloutOf: (key) => {
      podChanged(key);
      const pod = context.pods.get(key);
      const daemonSet = pod === undefined ? undefined : daemonSetOf(pod);
      return daemonSet !== undefined && holds(daemonSet) ? daemonSet : undefined;
    },
    reconcile: async (key, signal) => {
      const pod = context.pods.get(key);
      if (pod === undefined) return {};
      const step = decideGate(pod, (node) => drainsOfNode(context.maintenances.on(node), node));
      if (step === 'hold') ungated.gated(pod);
      if (step === 'hold' || step === 'leave') return {};
      const { inMs } = ungated.due(pod);
      if (step === 'remove' && inMs > 0) return { againMs: inMs };
      // Our copies of pods and maintenances are of different moments: a pod can be seen before the drain that holds it.
      const fresh = await context.readMaintenances(signal);
      const isStill = decideGate(pod, (node) => drainsOfNode(fresh, node)) === step;
      if (isStill && !ungated.hasRemoved(pod)) await act(step, pod, signal);
      return {};
    },
  };
}

/** The loop over DaemonSet pods that have no node yet. */
export function gateLoop({ pods }: ControllerContext, gate: DaemonSetGate): Loop<Changes> {
  return {
    name: 'daemonset-gate',
    parallel: PARALLEL,
    reconcile: gate.reconcile,
    concerns: {
      Pod: ({ key }) => (gate.podChanged(key) ? [key] : []),
      Node: ({ name, isOtherForRequests }) => (isOtherForRequests ? pods.meantFor(name).map(keyOf) : []),
    },
  };
}
