/** What admission makes of new pods: their priority, and the gate of DaemonSet pods for nodes that are drained of them. */
import type { KubeObject } from '../../../src/api/meta.ts';
import { HELD_FOR_LABEL, MAINTENANCE_GATE } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { targetsCover } from '../../../src/decide/maintenance/drain-plan.ts';
import { drainsOfNode } from '../../../src/decide/maintenance/maintenance.ts';
import { drainPodOf, podTypeOf, targetNodeOf } from '../../../src/decide/pod.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import type { ModelServer } from '../api-server/server.ts';

const PRIORITIES: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
  'chaos-lowest': -2_147_483_648,
  'chaos-highest': 1_000_000_000,
};

/** The gate, as manifests/policies/daemonset-gate.yaml sets it. */
function gated(server: ModelServer, pod: Pod): Pod {
  const node = targetNodeOf(pod);
  if (podTypeOf(pod) !== 'DaemonSet' || node === undefined || pod.spec.nodeName !== undefined) return pod;
  const drains = drainsOfNode(server.objects.list('NodeMaintenance') as readonly NodeMaintenance[], node);
  if (!drains.some(({ drainTargets }) => targetsCover(drainTargets, drainPodOf(pod)))) return pod;
  const labels = { ...pod.metadata.labels, ...(node.length <= 63 ? { [HELD_FOR_LABEL]: node } : {}) };
  const schedulingGates = [...(pod.spec.schedulingGates ?? []), { name: MAINTENANCE_GATE }];
  return { ...pod, metadata: { ...pod.metadata, labels }, spec: { ...pod.spec, schedulingGates } };
}

/** The request as admission leaves it. */
export function admitted(server: ModelServer, request: KubeRequest): KubeRequest {
  const { method, body } = request;
  if (method !== 'POST' || (body as KubeObject | undefined)?.kind !== 'Pod') return request;
  const pod = body as Pod & { readonly spec: { readonly priorityClassName?: string } };
  const priority = PRIORITIES[pod.spec.priorityClassName ?? ''] ?? 0;
  return { ...request, body: gated(server, { ...pod, spec: { ...pod.spec, priority } }) };
}
