import type { Node } from '../api/pod.ts';

/** Labels by which kubeadm and others mark the nodes of the control plane; etcd is taken to run on each of them. */
const CONTROL_PLANE_LABELS = [
  'node-role.kubernetes.io/control-plane',
  'node-role.kubernetes.io/master',
  'node-role.kubernetes.io/etcd',
];

/** Whether a drain leaves the control plane at work. */
export type ControlPlaneVerdict = { readonly kind: 'safe' } | { readonly kind: 'unsafe'; readonly message: string };

function isControlPlane({ metadata }: Node): boolean {
  return CONTROL_PLANE_LABELS.some((label) => metadata.labels?.[label] !== undefined);
}

function isHealthy({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}

/**
 * Judges a drain of the `leaving` nodes: it must not take the last healthy member of the control plane, nor so many that
 * etcd loses its quorum of more than half of its members. `away` are nodes that other maintenances drain already.
 */
export function judgeControlPlane(
  nodes: readonly Node[],
  leaving: ReadonlySet<string>,
  away: ReadonlySet<string>,
): ControlPlaneVerdict {
  const members = nodes.filter(isControlPlane);
  const taken = members.filter(({ metadata }) => leaving.has(metadata.name));
  if (taken.length === 0) return { kind: 'safe' };
  const left = members.filter((node) => {
    return isHealthy(node) && !leaving.has(node.metadata.name) && !away.has(node.metadata.name);
  });
  const quorum = Math.floor(members.length / 2) + 1;
  if (left.length >= quorum) return { kind: 'safe' };
  const names = taken.map(({ metadata }) => metadata.name).join(', ');
  const message =
    left.length === 0
      ? `draining ${names} takes the last healthy member of the control plane`
      : `draining ${names} leaves ${left.length} of ${members.length} members of the control plane at work, and etcd needs ${quorum}`;
  return { kind: 'unsafe', message };
}
