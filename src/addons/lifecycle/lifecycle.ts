/** The controllers that Kubernetes 1.37 has not: those of EvictionRequests and Evictions, and the default evictor. */
import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import type { ServiceDependencies } from '../../kube/service/service.ts';
import { createCurrencyCheck } from '../../kube/copy/currency.ts';
import { createSharedValues } from '../../kube/copy/shared-values.ts';
import { transformBudget, transformPod } from '../../kube/copy/transform.ts';
import { createEventRecorder } from '../../kube/events.ts';
import { isLifecycleServed } from '../../kube/lifecycle/discovery.ts';
import { copiesOf, createLifecycleObjects, type LifecycleObjects } from '../../kube/lifecycle/objects.ts';
import { createTargetNotes, type TargetNotes } from '../../kube/lifecycle/target-notes.ts';
import { workWhileServed } from '../../kube/lifecycle/while-served.ts';
import { createLoops, type Loop } from '../../kube/loop/loops.ts';
import { DISRUPTION_BUDGETS, keyOf, PODS } from '../../kube/resource.ts';
import { withServerClock } from '../../kube/server-clock.ts';
import { createWatchGroup } from '../../kube/watch-group.ts';
import { createObjectCache } from '../../kube/watch.ts';
import type { LifecycleContext } from './context.ts';
import { createEvictor, type EvictorOptions } from './evictor.ts';
import { createTargetReconciler } from './reconciler.ts';

const PARALLEL_TARGETS = 16;
/** Webhooks of one namespace can hold up as many evictions as one namespace may have under way, and no others. */
const PARALLEL_EVICTIONS = 64;
/** How often it is asked whether the cluster serves the group: only a restart of the API server changes it. */
const ASK_EVERY_MS = 60_000;
const ASK_AGAIN_MS = 5_000;

/** What the controllers are made from while the cluster serves the group. */
interface Scene {
  readonly context: LifecycleContext;
  readonly objects: LifecycleObjects;
  readonly notes: TargetNotes;
  readonly options: EvictorOptions;
}

/** What the controllers are told, by its kind. Keys of pods and budgets are NAMESPACE/NAME. */
interface Changes {
  readonly Pod: string;
  readonly Budget: string;
  /** An object for this pod changed. */
  readonly Target: string;
  readonly Eviction: string;
}

/** Creates one of the controllers. */
export type ControllerPart = (scene: Scene) => Loop<Changes>;

/** Creates the controller of EvictionRequests and Evictions. */
export function evictionController({ context, objects, notes }: Scene): Loop<Changes> {
  const { requests, evictions } = objects;
  return {
    name: 'targets',
    parallel: PARALLEL_TARGETS,
    reconcile: createTargetReconciler({ context, objects, notes }),
    concerns: {
      Target: (pod) => [pod],
      Pod: (key) => (requests.under(key).length + evictions.under(key).length > 0 ? [key] : []),
    },
  };
}

/** Creates the default evictor, the responder `imperative-eviction.k8s.io/evictor`. */
export function defaultEvictor({ context, objects, notes, options }: Scene): Loop<Changes> {
  const evictor = createEvictor(context, objects.evictions, notes, options);
  return {
    name: 'evictor',
    parallel: PARALLEL_EVICTIONS,
    reconcile: evictor.reconcile,
    concerns: {
      Eviction: (key) => [key],
      Pod: (key) => objects.evictions.under(key).map(keyOf),
      Budget: (key) => evictor.budgetChanged(key),
    },
  };
}

/** Both, as `kube-controller-manager` is to have them. */
const CONTROLLERS: readonly ControllerPart[] = [evictionController, defaultEvictor];

/** Works until the signal is aborted, or the cluster does not serve the group any more. */
async function work(
  dependencies: ServiceDependencies,
  parts: readonly ControllerPart[],
  options: EvictorOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = dependencies;
  const watching = { ...dependencies, group: createWatchGroup(clock) };
  const shared = createSharedValues();
  const loops = createLoops<Changes>();
  const { tell } = loops;
  const onPod = (key: string): void => {
    tell('Pod', key);
  };
  const onBudget = (key: string): void => {
    tell('Budget', key);
  };
  const pods = createObjectCache<Pod>({ resource: PODS }, onPod, watching, (pod) => transformPod(pod, shared));
  const budgets = createObjectCache<PodDisruptionBudget>(
    { resource: DISRUPTION_BUDGETS },
    onBudget,
    watching,
    transformBudget,
  );
  const notes = createTargetNotes(clock);
  const objects: LifecycleObjects = createLifecycleObjects(watching, (kind, pod, key) => {
    if (objects.requests.under(pod).length + objects.evictions.under(pod).length === 0) notes.keep(pod, []);
    tell('Target', pod);
    if (kind === 'eviction') tell('Eviction', key);
  });
  const events = createEventRecorder('nodemaint-lifecycle', dependencies);
  const context: LifecycleContext = { ...dependencies, events, pods, budgets };
  const mayRun = createCurrencyCheck({ ...copiesOf(objects), pods, poddisruptionbudgets: budgets }, { clock, log });
  for (const part of parts) loops.add(part({ context, objects, notes, options }), { clock, log, mayRun });
  const others = [pods, budgets];
  const ended = new AbortController();
  const ending = AbortSignal.any([signal, ended.signal]);
  const running = async (): Promise<void> => {
    await workWhileServed({ objects, others }, (until) => loops.run(until), dependencies, ending);
    ended.abort();
  };
  await Promise.all([...others.map((copy) => copy.run(ending)), events.run(ending), running()]);
}

/**
 * Runs the controllers until the signal is aborted; rests while the cluster does not serve the group. It keeps nothing that is
 * not on the objects, so that another process goes on where this one ends.
 */
export async function runLifecycle(
  given: ServiceDependencies,
  {
    parts = CONTROLLERS,
    options = {},
  }: { readonly parts?: readonly ControllerPart[]; readonly options?: EvictorOptions },
  signal: AbortSignal,
): Promise<void> {
  const dependencies = { ...given, ...withServerClock(given.client, given.clock) };
  const { client, clock, log } = dependencies;
  let wasServed: boolean | undefined;
  while (!signal.aborted) {
    const isServed = await isLifecycleServed(client, signal).catch(() => undefined);
    if (isServed !== undefined && isServed !== wasServed) {
      wasServed = isServed;
      if (isServed) log.info({}, 'the cluster serves lifecycle.k8s.io/v1alpha1: its Evictions are worked on');
      else log.warn({}, 'the cluster does not serve lifecycle.k8s.io/v1alpha1: there is nothing to do');
    }
    if (isServed === true) await work(dependencies, parts, options, signal);
    if (signal.aborted) return;
    await clock.sleep(isServed === false ? ASK_EVERY_MS : ASK_AGAIN_MS, signal).catch(() => undefined);
  }
}
