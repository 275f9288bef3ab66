import type { NodeSelector } from '../../api/meta.ts';
import type { Node } from '../../api/pod.ts';
import { nodeSelectorMatches } from '../selector.ts';
import { isControlPlane } from './control-plane-members.ts';

const DANGER = 'the cluster may get into a degraded and unrecoverable state';

/**
 * The warnings for the author of a maintenance with this selector, where these are all nodes of the cluster (KEP-4212,
 * "NodeMaintenance Admission"); none where nothing is wrong. Each is shorter than the 256 characters that the API server
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
