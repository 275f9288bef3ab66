/** Other programs that take a node out of service, recognised by the taints, annotations and conditions that they publish. */
import type { Node } from '../../api/pod.ts';
import { isOurCondition, KUBELET_SHUTS_DOWN } from '../maintenance/node-conditions.ts';

/** What each of them sets on a node, and what that means. */
const SIGNS: readonly {
  readonly kind: 'taint' | 'annotation';
  readonly key: string;
  readonly says: string;
}[] = [
  { kind: 'taint', key: 'ToBeDeletedByClusterAutoscaler', says: 'cluster-autoscaler is deleting the node' },
  { kind: 'taint', key: 'DeletionCandidateOfClusterAutoscaler', says: 'cluster-autoscaler may delete the node soon' },
  { kind: 'taint', key: 'karpenter.sh/disrupted', says: 'karpenter is draining the node, to delete it' },
  { kind: 'taint', key: 'karpenter.sh/disruption', says: 'karpenter is draining the node, to delete it' },
  {
    kind: 'taint',
    key: 'node.cluster.x-k8s.io/outdated-revision',
    says: 'Cluster API will replace the node, whose Machine is of an older revision',
  },
  {
    kind: 'taint',
    key: 'cloud.google.com/impending-node-termination',
    says: 'the cloud is about to end the machine of the node',
  },
  {
    kind: 'taint',
    key: 'aws-node-termination-handler/spot-itn',
    says: 'aws-node-termination-handler drains the node, whose machine is reclaimed',
  },
  {
    kind: 'taint',
    key: 'node.kubernetes.io/out-of-service',
    says: 'somebody has declared that the machine of the node is off: its volumes are detached by force',
  },
  { kind: 'annotation', key: 'weave.works/kured-reboot-in-progress', says: 'kured is rebooting the node' },
];

/** What it means that a condition of a node's lifecycle (KEP-5683) is True that is none of ours. */
const CONDITIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    [KUBELET_SHUTS_DOWN]: 'the kubelet is shutting the node down',
    DrainInProgress: 'somebody else drains the node',
    MaintenanceInProgress: 'the node is under maintenance by somebody else',
    MaintenancePlanned: 'a maintenance of the node is planned by somebody else',
  }),
);
/** A reason may be as long as its writer likes. */
const MAX_REASON = 100;

function conditionsOfOthers({ status }: Node): readonly string[] {
  return (status?.conditions ?? []).flatMap((condition) => {
    const { type, reason = '' } = condition;
    const says = CONDITIONS.get(type);
    if (says === undefined || condition.status !== 'True' || isOurCondition(condition)) return [];
    const why = reason === '' ? '' : `, reason ${reason.slice(0, MAX_REASON)}`;
    return [`${says} (condition ${type}${why})`];
  });
}

/** What other programs are doing with the node, a sentence for each. */
export function otherMaintainers(node: Node): readonly string[] {
  const { metadata, spec } = node;
  const taints = new Set(spec?.taints?.map(({ key }) => key));
  const found = SIGNS.filter(({ kind, key }) =>
    kind === 'taint' ? taints.has(key) : metadata.annotations?.[key] !== undefined,
  );
  return [...found.map(({ kind, key, says }) => `${says} (${kind} ${key})`), ...conditionsOfOthers(node)];
}
