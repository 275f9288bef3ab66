/** What the leader does for `lifecycle.k8s.io`, where the cluster serves it: it asks for its drains, and is a responder. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { countedView } from '../../decide/lifecycle/drain-view.ts';
import { createCurrencyCheck } from '../../kube/copy/currency.ts';
import type { CurrentCopy } from '../../kube/leader/readiness.ts';
import { hasDrainRequests, isLifecycleServed } from '../../kube/lifecycle/discovery.ts';
import { copiesOf, createLifecycleObjects, type LifecycleObjects } from '../../kube/lifecycle/objects.ts';
import { createTargetNotes } from '../../kube/lifecycle/target-notes.ts';
import { cachesOf, workWhileServed } from '../../kube/lifecycle/while-served.ts';
import type { Loop, Tell } from '../../kube/loop/loops.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { keyOf } from '../../kube/resource.ts';
import { createWatchGroup } from '../../kube/watch-group.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';
import { createDaemonSetResponder } from './daemon-set.ts';
import { createDrainRequests, type DrainRequests, lateDrains, OLDER_ONLY } from './drain-requests.ts';

const PARALLEL_DAEMON_SETS = 16;
/** How often it is asked whether the cluster serves the group: only a restart of the API server changes it. */
const ASK_EVERY_MS = 10 * 60_000;
const ASK_AGAIN_MS = 5_000;
/** For so long drains wait for an answer on what the cluster serves. */
const MAX_UNKNOWN_MS = 30_000;

/** The part of a leader that speaks the second dialect. */
export interface LifecycleWork {
  /** What the drains of the term ask for in this dialect. */
  readonly drains: DrainRequests;
  readonly loops: readonly Loop<Changes>[];
  /** The copies that have had their first list, by the names of their resources. */
  copies(): Readonly<Record<string, CurrentCopy>>;
  /** All Evictions as the metrics count them. */
  counted(): readonly EvictionRequest[];
  /** Keeps the copies until the signal is aborted; rests while the cluster does not serve the group. */
  run(signal: AbortSignal): Promise<void>;
}

/** For a leader that speaks the older dialect only. */
export const NO_LIFECYCLE: LifecycleWork = {
  drains: OLDER_ONLY,
  loops: [],
  copies: () => ({}),
  counted: () => [],
  run: () => Promise.resolve(),
};

/** What there is while the cluster serves the group. */
interface Served {
  readonly objects: LifecycleObjects;
  readonly drains: DrainRequests;
  readonly isSynced: () => boolean;
  /** Whether the copies follow the API server. */
  readonly isCurrent: () => boolean;
  /** One step of the responder of DaemonSet pods. */
  readonly reconcile: Reconcile;
}

function createServed(context: ControllerContext, preferred: DrainRequests['preferred'], tell: Tell<Changes>): Served {
  const notes = createTargetNotes(context.clock);
  const objects: LifecycleObjects = createLifecycleObjects(
    { ...context, group: createWatchGroup(context.clock) },
    (kind, target, key) => {
      if (objects.requests.under(target).length + objects.evictions.under(target).length === 0) notes.keep(target, []);
      const concerned = new Set(drains.under(target));
      if (kind === 'request') {
        drains.note(key);
        concerned.add(key);
      }
      for (const each of concerned) tell('DrainRequest', each);
      tell('Target', target);
      if (kind === 'eviction') tell('Eviction', key);
    },
  );
  const drains = createDrainRequests({ ...context, objects, preferred });
  return {
    objects,
    drains,
    isSynced: () => cachesOf(objects).every((cache) => cache.synced()),
    isCurrent: createCurrencyCheck(copiesOf(objects), context),
    reconcile: createDaemonSetResponder(context, objects.evictions, notes),
  };
}

/** The loop of the responder of DaemonSet pods over Evictions; without the group there are none. */
function daemonSetLoop(served: () => Served | undefined): Loop<Changes> {
  return {
    name: 'lifecycle-daemonset',
    parallel: PARALLEL_DAEMON_SETS,
    reconcile: async (key, signal) => (await served()?.reconcile(key, signal)) ?? {},
    mayRun: () => {
      const now = served();
      return now === undefined || (now.isSynced() && now.isCurrent());
    },
    concerns: {
      Eviction: (key) => [key],
      Pod: ({ key }) => served()?.objects.evictions.under(key).map(keyOf) ?? [],
    },
  };
}

/** Which dialect drains speak; not known until it was asked what the cluster serves, and the copies are there. */
function createPreference(
  { clock, options }: ControllerContext,
  found: () => 'unknown' | 'absent' | 'served',
  isSynced: () => boolean,
): DrainRequests['preferred'] {
  const begunAt = clock.monotonic();
  return () => {
    const isKnown = found() === 'served' && isSynced();
    if (isKnown) return options.lifecycleApi === 'on' ? 'newer' : 'older';
    // Drains do not wait for an API that gives no answer.
    return found() === 'absent' || clock.monotonic() - begunAt > MAX_UNKNOWN_MS ? 'older' : undefined;
  };
}

/**
 * Creates the part of a leader for `lifecycle.k8s.io`; `context.client` stops writing when the term is over.
 */
export function createLifecycleWork(context: ControllerContext, tell: Tell<Changes>): LifecycleWork {
  const { clock, log, options } = context;
  let served: Served | undefined;
  let found: 'unknown' | 'absent' | 'served' = 'unknown';
  const isSynced = (): boolean => served?.isSynced() === true;
  const preferred = createPreference(context, () => found, isSynced);
  const isKnown = (): boolean => found === 'absent' || isSynced();
  return {
    drains: lateDrains({ preferred, isKnown }, () => served?.drains),
    loops: [daemonSetLoop(() => served)],
    copies: () => (served !== undefined && isSynced() ? copiesOf(served.objects) : {}),
    counted: () =>
      served?.objects.evictions.cache.list().flatMap(({ read }) => (read && countedView(read)) ?? []) ?? [],
    run: async (signal) => {
      const isOff = options.lifecycleApi === 'off';
      const isWanted = isOff ? hasDrainRequests : isLifecycleServed;
      while (!signal.aborted) {
        const isServed = await isWanted(context.client, signal).catch(() => undefined);
        if (isServed === true) {
          log.info({}, 'the cluster serves lifecycle.k8s.io/v1alpha1');
          served = createServed(context, preferred, tell);
          found = 'served';
          await workWhileServed(served, () => Promise.resolve(), context, signal);
          if (signal.aborted) return;
          log.warn(
            {},
            'the cluster does not serve lifecycle.k8s.io/v1alpha1 any more: drains ask in the older dialect',
          );
          const asked = served.drains.list().map(keyOf);
          served = undefined;
          found = 'absent';
          for (const key of asked) tell('DrainRequest', key);
          continue;
        }
        if (isServed === false && isOff) {
          found = 'absent';
          return;
        }
        if (isServed === false && found === 'unknown') {
          found = 'absent';
          log.info({}, 'the cluster does not serve lifecycle.k8s.io/v1alpha1, which --lifecycle-api asks for');
        }
        const pauseMs = isServed === undefined ? ASK_AGAIN_MS : ASK_EVERY_MS;
        await clock.sleep(pauseMs, signal).catch(() => undefined);
      }
    },
  };
}
