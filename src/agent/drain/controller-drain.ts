import { podKey } from '../../decide/static-pod/moves.ts';
import { effectiveDrains } from '../../decide/static-pod/retention.ts';
import { URL_PODS_LEFT } from '../../decide/static-pod/url-pods.ts';
import type { OwnMaintenances } from '../cluster/own-maintenances.ts';
import type { KubeletInterceptor } from '../static-pods/interceptor.ts';
import { isRunning, type StaticPodView } from '../static-pods/view.ts';
import { type Drainer, drainedFor, leavesOnlyRefused } from './drainer.ts';

/** Whether no static pod is left that has a manifest here, so that those left have none. */
function hasNoneWithManifest(view: StaticPodView): boolean {
  return view.inPlace.length === 0 && view.refusal === undefined && !view.parked.some((pod) => isRunning(pod, view));
}

/** The drain by the controller: the agent lets static pods leave when their EvictionRequests ask its interceptor. */
export function createControllerDrainer(
  own: Pick<OwnMaintenances, 'isDrained' | 'podsLeft'>,
  interceptor: Pick<KubeletInterceptor, 'observe'>,
): Drainer {
  return {
    pass: async ({ record, view, retention, keepParked }, signal) => {
      const drains = effectiveDrains(retention);
      const name = drainedFor(record.phase);
      const left = name !== undefined && hasNoneWithManifest(view) ? own.podsLeft(name) : undefined;
      const mayBeFromUrl = left !== undefined && left > 0;
      const wantsMirrors = mayBeFromUrl || view.parked.some((pod) => pod.thisBoot && !keepParked(pod));
      const intent = await interceptor.observe(view, drains, wantsMirrors, signal);
      const isOver = name !== undefined && (own.isDrained(name) || leavesOnlyRefused(view, drains, name));
      if (isOver || !mayBeFromUrl || intent.mirrors === undefined) return { ...intent, drained: isOver, waiting: [] };
      const parked = new Set(view.parked.map(podKey));
      const fromUrl = [...intent.mirrors].filter((key) => !parked.has(key));
      if (fromUrl.length !== left) return { ...intent, drained: false, waiting: [] };
      return { ...intent, drained: true, left: `${URL_PODS_LEFT}: ${fromUrl.join(', ')}`, waiting: [] };
    },
    stop: () => undefined,
  };
}
