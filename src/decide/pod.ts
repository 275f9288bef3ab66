import { CONTROLLER_NAMESPACE, MIRROR_ANNOTATION } from '../api/names.ts';
import type { KeptPods, PodType } from '../api/node-maintenance.ts';
import type { Node, NodeCondition, Pod } from '../api/pod.ts';
import { timeOf } from './time.ts';
import { orderOfLeaving } from './plugin-pods.ts';

/** Why static pods stay that no drain takes away; their names follow. */
export const CARRIES_WAY =
  "static pods that carry the node's way to the API server, and leave last when the machine goes down";

/** The kubelet's default grace period of a pod, in seconds. */
export const DEFAULT_GRACE_SEC = 30;
/** A year, in seconds. Longer grace periods are cut to it: the API server accepts any 64-bit number, which overflows timers and dates (kubernetes/kubernetes#84298). */
export const MAX_GRACE_SEC = 365 * 24 * 3600;

/** What is lost when a pod leaves: the pod itself, because no controller owns it, or the data in its emptyDir volumes. */
export type PodLoss = Extract<KeptPods, 'Unmanaged' | 'EmptyDir'>;

/** What the drain plan needs to know about a pod, from the API server or from a manifest. */
export interface DrainPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly podType: PodType;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  /** What is lost with a Default pod that leaves; absent where nothing is. */
  readonly lossOf?: readonly PodLoss[];
  /** Of a DaemonSet pod that others need: 1 for a driver, 2 for the network; it leaves after all with a lower one. */
  readonly order?: 1 | 2;
  /** Why no drain of its node waits for the pod; absent for one that drains wait for. */
  readonly stays?: string;
}

/** The name of a pod as people write it: NAMESPACE/NAME. */
export function podName({
  namespace = 'default',
  name,
}: {
  readonly namespace?: string;
  readonly name: string;
}): string {
  return `${namespace}/${name}`;
}

/** KEP-4212, PodType: mirror pods are Static, pods controlled by a DaemonSet are DaemonSet, all others Default. */
export function podTypeOf(pod: Pod): PodType {
  if (pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined) return 'Static';
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner?.kind === 'DaemonSet' && owner.apiVersion.startsWith('apps/') ? 'DaemonSet' : 'Default';
}

/** Whether the pod is part of a Workload or PodGroup, whose eviction is not supported (KEP-4563). */
export function isInPodGroup({ spec }: Pick<Pod, 'spec'>): boolean {
  return spec.workloadRef !== undefined || spec.schedulingGroup !== undefined;
}

/** Whether the pod has reached a terminal phase (KEP-4563, "EvictionRequest Completion"). */
export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** Whether the pod is not known to be unready. */
export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value !== 'True') !== true;
}

/** What the kubelet of the node says of itself; undefined where it has said nothing yet. */
export function readyConditionOf(node: Pick<Node, 'status'> | undefined): NodeCondition | undefined {
  return node?.status?.conditions?.find(({ type }) => type === 'Ready');
}

/** A grace period in seconds, limited to the range from 0 to a year. */
export function boundedGraceSec(seconds: number): number {
  return Math.min(MAX_GRACE_SEC, Math.max(0, seconds));
}

/** The pod's own grace period in seconds, at most a year. */
export function graceSecOf(pod: Pod): number {
  return boundedGraceSec(pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SEC);
}

/** When a pod was deleted, and when its grace period ends, in milliseconds since the epoch. */
export interface PodEnd {
  readonly toldAt: number;
  readonly endsAt: number;
}

/**
 * The end of a terminating pod; undefined for a pod that is not terminating. The API server adds the grace period to the time
 * of deletion in 64-bit nanoseconds; if a very long grace period overflows, `deletionTimestamp` is an arbitrary time.
 */
export function endOf({ metadata }: Pod): PodEnd | undefined {
  const shownAt = timeOf(metadata.deletionTimestamp);
  if (shownAt === undefined) return undefined;
  const graceSec = BigInt(Math.trunc(metadata.deletionGracePeriodSeconds ?? 0));
  const toldAt = shownAt - Number(BigInt.asIntN(64, graceSec * 1_000_000_000n) / 1_000_000n);
  return { toldAt, endsAt: toldAt + boundedGraceSec(Number(graceSec)) * 1000 };
}

/** The largest int32: that of the last entry of a drain plan for each type of pods. */
const LAST_PRIORITY = 2_147_483_647;

/**
 * What is lost when the pod leaves, as `kubectl drain` judges it: nothing of a mirror pod, of a DaemonSet's pod, of one that
 * has ended, and of one that is terminating already.
 */
export function lossOf(pod: Pod): readonly PodLoss[] {
  const { ownerReferences = [], deletionTimestamp } = pod.metadata;
  if (podTypeOf(pod) !== 'Default' || isTerminal(pod) || deletionTimestamp !== undefined) return [];
  return [
    ...(ownerReferences.some(({ controller }) => controller === true) ? [] : (['Unmanaged'] as const)),
    ...(pod.spec.volumes?.some(({ emptyDir }) => emptyDir !== undefined) === true ? (['EmptyDir'] as const) : []),
  ];
}

/** A pod of the API server, for the rules of the drain. */
export function drainPodOf(pod: Pod): DrainPod {
  const podType = podTypeOf(pod);
  const loss = lossOf(pod);
  const order = podType === 'DaemonSet' ? orderOfLeaving(pod) : 0;
  // Those before it need it, whatever its priority is; the controller asks their interceptors and budgets.
  const isLast = order > 0 || (podType === 'Default' && isOwnController(pod));
  return {
    namespace: pod.metadata.namespace ?? 'default',
    name: pod.metadata.name,
    uid: pod.metadata.uid ?? '',
    podType,
    priority: isLast ? LAST_PRIORITY : (pod.spec.priority ?? 0),
    labels: pod.metadata.labels ?? {},
    ...(loss.length === 0 ? {} : { lossOf: loss }),
    ...(order === 0 ? {} : { order }),
  };
}

/**
 * The node a DaemonSet pod was made for: the binding, or before it the node affinity that the DaemonSet controller
 * writes (pkg/controller/daemon/util, GetTargetNodeName).
 */
export function targetNodeOf(pod: Pod): string | undefined {
  if (pod.spec.nodeName !== undefined && pod.spec.nodeName !== '') return pod.spec.nodeName;
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  for (const { matchFields = [] } of terms ?? []) {
    const field = matchFields.find(({ key, operator }) => key === 'metadata.name' && operator === 'In');
    if (field?.values?.length === 1) return field.values[0];
  }
  return undefined;
}

/** The label of the controller's Deployment in manifests/, and its value. */
const NAME_LABEL = 'app.kubernetes.io/name';
const CONTROLLER_NAME = 'nodemaint-controller';

/** Whether the pod is a replica of the nodemaint controller. It leaves after all other Default pods. */
export function isOwnController({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return metadata.namespace === CONTROLLER_NAMESPACE && metadata.labels?.[NAME_LABEL] === CONTROLLER_NAME;
}
