import type { KubeObject, ObjectMeta } from '../../api/meta.ts';
import {
  EVICT_ONLY_ANNOTATION,
  EVICT_POLICY_ANNOTATION,
  EVICT_WANTED_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
  INTERCEPTOR_ANNOTATION_PREFIXES,
  MIRROR_ANNOTATION,
  OWN_LABEL_PREFIX,
  SOURCE_ANNOTATION,
} from '../../api/names.ts';
import type { Node, Pod, PodDisruptionBudget, Toleration } from '../../api/pod.ts';
import { annotationWrites, isAnnotatedInProgress } from '../../decide/background-eviction/annotation.ts';
import { isReady, podTypeOf } from '../../decide/pod.ts';
import { volumesThatMatter } from '../../decide/plugin-pods.ts';

const POD_SPEC = [
  'nodeName',
  'priority',
  'terminationGracePeriodSeconds',
  'schedulingGates',
  'evictionInterceptors',
  'workloadRef',
  'schedulingGroup',
] as const satisfies readonly (keyof Pod['spec'])[];

/** What the rules read of the metadata of a pod, beside its annotations. */
const POD_META = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'finalizers',
  'creationTimestamp',
  'labels',
  'ownerReferences',
] as const satisfies readonly (keyof ObjectMeta)[];

/** How the names of those annotations of pods begin that the rules read. */
const POD_ANNOTATIONS = [
  ...INTERCEPTOR_ANNOTATION_PREFIXES,
  OWN_LABEL_PREFIX,
  EVICT_ONLY_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
  EVICT_POLICY_ANNOTATION,
  EVICT_WANTED_ANNOTATION,
  MIRROR_ANNOTATION,
  SOURCE_ANNOTATION,
];

/** What kubectl applied: a second copy of the whole object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** An object with some of its fields; one that is absent stays absent. */
export function pick<T extends object, K extends keyof T>(object: T, keys: readonly K[]): Pick<T, K> {
  const present = keys.filter((key) => object[key] !== undefined);
  return Object.fromEntries(present.map((key) => [key, object[key]])) as Pick<T, K>;
}

function trimMeta(meta: ObjectMeta): ObjectMeta {
  const { managedFields: _, ...kept } = meta;
  if (kept.annotations?.[LAST_APPLIED] === undefined) return kept;
  const { [LAST_APPLIED]: __, ...annotations } = kept.annotations;
  return { ...kept, annotations };
}

/** Of most pods it is enough to know that they are not ready; DaemonSet pods are read when their DaemonSet is rolled out. */
function trimPodStatus(pod: Pod): NonNullable<Pod['status']> {
  const kept = pick(pod.status ?? {}, ['phase']);
  const ready = pod.status?.conditions?.filter(({ type }) => type === 'Ready') ?? [];
  if (ready.length === 0 || (podTypeOf(pod) !== 'DaemonSet' && isReady(pod))) return kept;
  return { ...kept, conditions: ready.map((each) => pick(each, ['type', 'status', 'lastTransitionTime'])) };
}

function trimPodMeta(meta: ObjectMeta): ObjectMeta {
  const kept = Object.entries(meta.annotations ?? {}).filter(([name]) =>
    POD_ANNOTATIONS.some((beginning) => name.startsWith(beginning)),
  );
  return {
    ...pick(meta, POD_META),
    ...(kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) }),
    ...(isAnnotatedInProgress(meta) ? { managedFields: annotationWrites(meta) } : {}),
  };
}

/** The tolerations that Kubernetes gives to every pod, for taints of states that pass. */
function isCommon({ effect, tolerationSeconds }: Toleration): boolean {
  return effect === 'NoExecute' && tolerationSeconds !== undefined;
}

/**
 * On which nodes the pod could run. Only a pod without a node is asked for the node that it is meant for, as those of DaemonSets
 * are; of them nobody asks for another one.
 */
function demandsOf(pod: Pod): Partial<Pod['spec']> {
  const { spec } = pod;
  if (podTypeOf(pod) !== 'Default') return spec.nodeName === undefined ? pick(spec, ['affinity']) : {};
  const tolerations = spec.tolerations?.filter((each) => !isCommon(each)) ?? [];
  const { nodeAffinity } = spec.affinity ?? {};
  return {
    ...pick(spec, ['nodeSelector']),
    ...(tolerations.length === 0 ? {} : { tolerations }),
    ...(nodeAffinity === undefined ? {} : { affinity: { nodeAffinity } }),
  };
}

/** What the controller keeps of a pod: nothing of its containers, and of its volumes what drivers have to do with. */
export function transformPod(pod: Pod): Pod {
  const { metadata, spec } = pod;
  const volumes = volumesThatMatter(spec.volumes);
  const kept = { ...pick(spec, POD_SPEC), ...demandsOf(pod), ...(volumes === undefined ? {} : { volumes }) };
  return { metadata: trimPodMeta(metadata), spec: kept, status: trimPodStatus(pod) };
}

const NODE_CONDITION = ['type', 'status', 'reason', 'message'] as const;
/** Since when a maintenance is over says the guard of the control plane, and since when a kubelet is silent says the rule of budgets. */
const DATED = ['MaintenanceInProgress', 'Ready'];

/** What the controller keeps of a node. */
export function transformNode({ metadata, spec, status }: Node): Node {
  const conditions = (status?.conditions ?? []).map((each) =>
    pick(each, DATED.includes(each.type) ? [...NODE_CONDITION, 'lastTransitionTime'] : NODE_CONDITION),
  );
  const boot = status?.nodeInfo === undefined ? {} : { nodeInfo: pick(status.nodeInfo, ['bootID']) };
  const attached = status?.volumesAttached?.map(({ name }) => ({ name }));
  const volumes = {
    ...pick(status ?? {}, ['volumesInUse']),
    ...(attached === undefined ? {} : { volumesAttached: attached }),
  };
  const kept = { conditions, ...boot, ...volumes };
  return { metadata: trimMeta(metadata), spec: pick(spec ?? {}, ['unschedulable', 'taints']), status: kept };
}

/** What the controller keeps of a NodeMaintenance or an EvictionRequest: all but managedFields. */
export function withoutManagers<T extends KubeObject>(object: T): T {
  return { ...object, metadata: trimMeta(object.metadata) };
}

/** What the controller keeps of a PodDisruptionBudget. */
export function transformBudget({ metadata, spec, status }: PodDisruptionBudget): PodDisruptionBudget {
  return {
    metadata: trimMeta(metadata),
    spec: pick(spec ?? {}, ['selector']),
    status: pick(status ?? {}, ['disruptionsAllowed', 'conditions']),
  };
}
