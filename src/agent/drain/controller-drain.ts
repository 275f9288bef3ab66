import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { agentNodeOf } from '../../decide/maintenance/maintenance.ts';
import { goesDownSince } from '../../decide/staying-pod/returning-pod.ts';
import { effectiveDrains } from '../../decide/static-pod/parked.ts';
import type { BlockedPods } from './blocked-pods.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import type { OwnMaintenances } from '../cluster/own-maintenances.ts';
import type { KubeletInterceptor } from '../static-pods/interceptor.ts';
import { isRunning } from '../static-pods/view.ts';
import { type Drainer, drainedFor } from './drainer.ts';

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
  own: Pick<OwnMaintenances, 'isDrained' | 'awaitsVolumes'>,
  interceptor: Pick<KubeletInterceptor, 'observe'>,
  blocked: BlockedPods,
  ownNode: OwnNode,
): Drainer {
  return {
    pass: async ({ record, view, retention, keepParked, maintenances }, signal) => {
      const drains = effectiveDrains(retention);
      const name = drainedFor(record.phase);
      const wantsMirrors = view.parked.some((pod) => pod.thisBoot && !keepParked(pod));
      const { unasked, ...intent } = await interceptor.observe(view, drains, wantsMirrors, signal);
      await blocked.end(maintenances, signal);
      const seen = name === undefined ? undefined : await ownNode.observe(NODE_AGE_MS, signal);
      const isCordoned = seen?.kind !== 'present' || seen.node.spec?.unschedulable === true;
      const since = downSince(name, maintenances, isCordoned);
      // The API server does not know of every static pod.
      const isEnding = view.live !== undefined && view.parked.some((pod) => isRunning(pod, view));
      const isDone = name !== undefined && own.isDrained(name);
      const drained = isDone && unasked.length === 0 && !isEnding;
      const what = `the API server does not tell of the static pods ${unasked.join(', ')}`;
      const stalled = isDone && unasked.length > 0 ? { stalled: what } : {};
      const awaitsVolumes = name !== undefined && own.awaitsVolumes(name);
      return { ...intent, ...stalled, drained, waiting: [], downSince: since, awaitsVolumes };
    },
    stop: () => undefined,
  };
}
