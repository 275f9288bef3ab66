import { effectiveDrains } from '../../decide/static-pod/retention.ts';
import type { OwnMaintenances } from '../cluster/own-maintenances.ts';
import type { KubeletInterceptor } from '../static-pods/interceptor.ts';
import { type Drainer, drainedFor, leavesOnlyRefused } from './drainer.ts';

/** The drain by the controller: the agent lets static pods leave when their EvictionRequests ask its interceptor. */
export function createControllerDrainer(
  own: Pick<OwnMaintenances, 'isDrained'>,
  interceptor: Pick<KubeletInterceptor, 'observe'>,
): Drainer {
  return {
    pass: async ({ record, view, retention, keepParked }, signal) => {
      const wantsMirrors = view.parked.some((pod) => pod.thisBoot && !keepParked(pod));
      const drains = effectiveDrains(retention);
      const intent = await interceptor.observe(view, drains, wantsMirrors, signal);
      const name = drainedFor(record.phase);
      const drained = name !== undefined && (own.isDrained(name) || leavesOnlyRefused(view, drains, name));
      return { ...intent, drained, waiting: [] };
    },
    stop: () => undefined,
  };
}
