import { CONTROLLER_NAMESPACE } from '../../api/lease.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { couldTakeNow } from '../../decide/disruption-budget/placement.ts';
import type { ReplicaFacts } from '../../show/checks/cluster-checks.ts';
import { isOwnController } from '../../decide/own-controller.ts';
import { isTerminal } from '../../decide/pod.ts';
import { collectionPath, DISRUPTION_BUDGETS, NODES, objectPath, PODS } from '../../kube/resource.ts';

/** The name of the budget that an older version of the manifests had. */
const OLD_BUDGET = 'nodemaint-controller';

/** The object of a path; undefined where there is none. */
type Get = <T>(path: string) => Promise<T | undefined>;

/** Reads where the replicas of the controller can run. */
export async function readReplicas(get: Get): Promise<ReplicaFacts> {
  const [pods, nodes, budget] = await Promise.all([
    get<{ readonly items?: readonly Pod[] }>(collectionPath(PODS, CONTROLLER_NAMESPACE)),
    get<{ readonly items?: readonly Node[] }>(collectionPath(NODES)),
    get(objectPath(DISRUPTION_BUDGETS, { namespace: CONTROLLER_NAMESPACE, name: OLD_BUDGET })),
  ]);
  const replicas = (pods?.items ?? []).filter((pod) => isOwnController(pod) && !isTerminal(pod));
  const running = new Set(replicas.flatMap(({ spec }) => spec.nodeName ?? []));
  const places = (nodes?.items ?? []).filter(
    (node) => running.has(node.metadata.name) || replicas.some((pod) => couldTakeNow(node, pod)),
  );
  return {
    pods: replicas.length,
    places: places.map(({ metadata }) => metadata.name).toSorted(),
    hasOldBudget: budget !== undefined,
  };
}
