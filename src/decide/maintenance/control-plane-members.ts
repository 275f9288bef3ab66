/** Which nodes are members of the control plane, and which of these are at work. */
import type { Node, Pod } from '../../api/pod.ts';
import { isReady, podTypeOf, readyConditionOf } from '../pod.ts';
import { isOurCondition } from './node-conditions.ts';

/** Labels by which kubeadm and others mark the nodes of the control plane. */
const CONTROL_PLANE_LABELS = [
  'node-role.kubernetes.io/control-plane',
  'node-role.kubernetes.io/master',
  'node-role.kubernetes.io/etcd',
];

/** Labels of static pods that name what they run: kubeadm and RKE2 write `component`, Talos and kops `k8s-app`, OpenShift `app`. */
const COMPONENT_LABELS = ['component', 'k8s-app', 'app'];

/** The pods without which a member is not at work, by what those labels say. */
const COMPONENTS: ReadonlyMap<string, Component> = new Map(
  Object.entries({
    etcd: 'etcd',
    'etcd-manager-main': 'etcd',
    'etcd-manager-events': 'etcd',
    'kube-apiserver': 'kube-apiserver',
    'openshift-kube-apiserver': 'kube-apiserver',
  }),
);

type Component = 'etcd' | 'kube-apiserver';

/** A member of the control plane. */
export interface ControlPlaneMember {
  readonly name: string;
  /** Whether its etcd or kube-apiserver is a static pod, which a drain that leaves static pods alone does not take. */
  readonly isStatic: boolean;
  /** Why it does not count as healthy; undefined where it does. */
  readonly fault?: string;
}

/** Whether the node is a member of the control plane. */
export function isControlPlane({ metadata }: Node): boolean {
  return CONTROL_PLANE_LABELS.some((label) => metadata.labels?.[label] !== undefined);
}

/** Whether the kubelet of the node says that it is ready. */
export function isHealthy(node: Node): boolean {
  return readyConditionOf(node)?.status === 'True';
}

/** What the static pod runs of the control plane; undefined for other pods, also for an etcd that an application has. */
export function componentOf(pod: Pod): Component | undefined {
  if (podTypeOf(pod) !== 'Static') return undefined;
  const values = COMPONENT_LABELS.map((label) => pod.metadata.labels?.[label] ?? '');
  return values.map((value) => COMPONENTS.get(value)).find((component) => component !== undefined);
}

/** Whether the component serves; a kubelet that has just made the mirror pod has not said so yet. */
export function isServing(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp === undefined && pod.status?.phase === 'Running' && isReady(pod);
}

/**
 * Since when the last drain of the node is over, as its conditions say; an empty text where they have no time for it, and
 * undefined for a node that was never drained. They stay when the maintenance is deleted, and are there for a new leader.
 */
export function drainedBefore({ status }: Node): string | undefined {
  const condition = status?.conditions?.find((each) => each.type === 'MaintenanceInProgress' && isOurCondition(each));
  if (condition === undefined) return undefined;
  return condition.status === 'True' ? '' : (condition.lastTransitionTime ?? '');
}

interface Facts {
  readonly node: Node;
  readonly serving: ReadonlySet<Component>;
  readonly notServing: ReadonlySet<Component>;
  readonly goesDown: boolean;
}

function factsOf(node: Node, pods: readonly Pod[], goesDown: boolean): Facts {
  const [serving, notServing] = [new Set<Component>(), new Set<Component>()];
  for (const pod of pods) {
    const component = componentOf(pod);
    if (component !== undefined) (isServing(pod) ? serving : notServing).add(component);
  }
  return { node, serving, notServing, goesDown };
}

function hasAny({ serving, notServing }: Facts): boolean {
  return serving.size + notServing.size > 0;
}

/** The components that every other member runs, of those that run any. */
function expectedOf(others: readonly Facts[]): readonly Component[] {
  const [first, ...rest] = others.filter(hasAny).map(({ serving, notServing }) => new Set([...serving, ...notServing]));
  return [...(first ?? [])].filter((component) => rest.every((each) => each.has(component)));
}

/**
 * What is missing on a member that was drained before: its manifests may be on their way back. A node that never had such
 * pods, as with k3s, whose control plane has no pods, lacks nothing.
 */
function missingOn(own: Facts, others: readonly Facts[]): readonly string[] {
  if (drainedBefore(own.node) === undefined || !others.some(hasAny)) return [];
  const missing = expectedOf(others).filter(
    (component) => !own.serving.has(component) && !own.notServing.has(component),
  );
  return missing.length === 0 && !hasAny(own) ? ['etcd or kube-apiserver'] : missing;
}

function faultOf(own: Facts, others: readonly Facts[]): string | undefined {
  const absent = [...own.notServing, ...missingOn(own, others)].toSorted();
  if (absent.length > 0) {
    const since = drainedBefore(own.node) ?? '';
    const after = since === '' ? '' : ` since its maintenance was over at ${since}`;
    return `${absent.join(' and ')} not Ready${after}`;
  }
  if (!isHealthy(own.node)) return 'node not Ready';
  return own.goesDown ? 'its agent says that the machine goes down' : undefined;
}

/**
 * The members of the control plane among these nodes. A member is at work when its node is Ready and its etcd and
 * kube-apiserver are, where these are static pods: after a maintenance that takes longer than the node, whose kubelet never stopped.
 * `goesDown` says whether the machine goes down although no drain counts it.
 */
export function membersOfControlPlane(
  nodes: readonly Node[],
  podsOn: (node: string) => readonly Pod[],
  goesDown: (node: Node) => boolean,
): readonly ControlPlaneMember[] {
  const members = nodes.filter(isControlPlane).map((node) => factsOf(node, podsOn(node.metadata.name), goesDown(node)));
  return members.map((own) => {
    const fault = faultOf(
      own,
      members.filter((each) => each !== own),
    );
    return { name: own.node.metadata.name, isStatic: hasAny(own), ...(fault === undefined ? {} : { fault }) };
  });
}
