import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { agentNodeOf } from '../../decide/maintenance/maintenance.ts';
import { reachesStaticPods } from '../../decide/maintenance/drain-plan.ts';
import { goesDownSince } from '../../decide/staying-pod/returning-pod.ts';
import { drainEnd, type Left, leftOf } from '../../decide/staying-pod/left-pods.ts';
import { effectiveDrains } from '../../decide/static-pod/parked.ts';
import type { BlockedPods } from './blocked-pods.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import type { OwnMaintenances } from '../cluster/own-maintenances.ts';
import type { ClusterIntent, KubeletInterceptor } from '../static-pods/interceptor.ts';
import { isRunning, type StaticPodView } from '../static-pods/view.ts';
import { type Drainer, drainedFor, manifestsOf } from './drainer.ts';

/** Whether no static pod is left that has a manifest here which could be moved. */
function hasNoneWithManifest(view: StaticPodView): boolean {
  return view.inPlace.length === 0 && !view.parked.some((pod) => isRunning(pod, view));
}

/**
 * What is left on the node. The pods are asked for only where the status may count some that cannot leave; then both must have
 * the same, because the one may be older than the other.
 */
function leftNow(
  view: StaticPodView,
  { pods }: Pick<ClusterIntent, 'pods'>,
  { counted, since }: { readonly counted: number; readonly since: number | undefined },
): readonly Left[] | undefined {
  const left = pods === undefined ? undefined : leftOf(pods, manifestsOf(view), since);
  return left?.length === counted ? left : undefined;
}

/** Its cordon is read again after this time. */
const NODE_AGE_MS = 15_000;

/** Since when the machine goes down, as its drains say; `shutdown` is the name of its shutdown's. */
function downSince(
  shutdown: string | undefined,
  maintenances: readonly NodeMaintenance[],
  isCordoned: boolean,
): number | undefined {
  const own = maintenances.find(({ metadata }) => metadata.name === shutdown);
  const node = own === undefined ? undefined : agentNodeOf(own);
  return node === undefined ? undefined : goesDownSince(maintenances, { name: node }, isCordoned);
}

/** The drain by the controller: the agent lets static pods leave when their EvictionRequests ask its interceptor. */
export function createControllerDrainer(
  own: Pick<OwnMaintenances, 'isDrained' | 'podsLeft'>,
  interceptor: Pick<KubeletInterceptor, 'observe'>,
  blocked: BlockedPods,
  ownNode: OwnNode,
): Drainer {
  return {
    pass: async ({ record, view, retention, keepParked, maintenances }, signal) => {
      const drains = effectiveDrains(retention);
      const name = drainedFor(record.phase);
      const isLast = drains.some(({ maintenance, drainTargets }) => {
        return maintenance === name && reachesStaticPods(drainTargets);
      });
      const counted = (name !== undefined && isLast && hasNoneWithManifest(view) ? own.podsLeft(name) : undefined) ?? 0;
      const wantsPods = counted > 0 || view.parked.some((pod) => pod.thisBoot && !keepParked(pod));
      const { pods, ...intent } = await interceptor.observe(view, drains, wantsPods, signal);
      await blocked.end(maintenances, signal);
      const seen = name === undefined ? undefined : await ownNode.observe(NODE_AGE_MS, signal);
      const isCordoned = seen?.kind !== 'present' || seen.node.spec?.unschedulable === true;
      const since = downSince(name, maintenances, isCordoned);
      const isOver = name !== undefined && own.isDrained(name);
      const left = isOver ? [] : counted > 0 ? leftNow(view, { pods }, { counted, since }) : undefined;
      return { ...intent, ...drainEnd(left), waiting: [], downSince: since };
    },
    stop: () => undefined,
  };
}
