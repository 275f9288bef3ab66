import type { NodeSelector } from '../../api/meta.ts';
import type { Node } from '../../api/pod.ts';
import { nodeSelectorMatches } from '../selector.ts';

/** The labels of control plane nodes: kubeadm's, and the one before 1.24. */
const CONTROL_PLANE_LABELS = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'] as const;

const DANGER = 'the cluster may get into a degraded and unrecoverable state';

function isControlPlane({ metadata }: Node): boolean {
  return CONTROL_PLANE_LABELS.some((label) => metadata.labels?.[label] !== undefined);
}

/**
 * What to say to whoever writes a maintenance with this selector, where these are all nodes of the cluster (KEP-4212,
 * "NodeMaintenance Admission"); nothing where all is well. Each is shorter than the 256 characters that the API server
 * passes on.
 */
export function maintenanceWarnings(selector: NodeSelector, nodes: readonly Node[]): readonly string[] {
  const selected = nodes.filter(({ metadata }) =>
    nodeSelectorMatches(selector, { name: metadata.name, labels: metadata.labels ?? {} }),
  );
  if (selected.length === 0) {
    const all = nodes.length === 1 ? 'the one node' : `any of the ${nodes.length} nodes`;
    return [`the nodeSelector does not select ${all} that the cluster has now: nothing will be done until it does`];
  }
  if (selected.length === nodes.length) {
    const all = nodes.length === 1 ? 'the only node' : `all ${nodes.length} nodes`;
    return [`the nodeSelector selects ${all} of the cluster: ${DANGER}`];
  }
  const members = nodes.filter(isControlPlane);
  if (members.length > 0 && members.every((node) => selected.includes(node))) {
    const all = members.length === 1 ? 'the only control plane node' : `all ${members.length} control plane nodes`;
    return [`the nodeSelector selects ${all} of the cluster: ${DANGER}`];
  }
  return [];
}
