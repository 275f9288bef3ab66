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
import { createWorkQueue, type Reconcile, type WorkQueue } from '../../kube/queue.ts';
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
  readonly queueOf: (name: string, reconcile: Reconcile, parallel: number) => WorkQueue;
}

/** A controller, and what changes are to it. Keys of pods and budgets are NAMESPACE/NAME. */
interface Controller {
  readonly queue: WorkQueue;
  /** An object for the pod changed; `key` is the key of an Eviction, if it was one. */
  onTarget(pod: string, eviction: string | undefined): void;
  onPod(key: string): void;
  onBudget(key: string): void;
}

/** Creates one of the controllers. */
export type ControllerPart = (scene: Scene) => Controller;

/** Creates the controller of EvictionRequests and Evictions. */
export function evictionController({ context, objects, notes, queueOf }: Scene): Controller {
  const { requests, evictions } = objects;
  const queue = queueOf('targets', createTargetReconciler({ context, objects, notes }), PARALLEL_TARGETS);
  return {
    queue,
    onTarget: (pod) => {
      queue.add(pod);
    },
    onPod: (key) => {
      if (requests.under(key).length + evictions.under(key).length > 0) queue.add(key);
    },
    onBudget: () => undefined,
  };
}

/** Creates the default evictor, the responder `imperative-eviction.k8s.io/evictor`. */
export function defaultEvictor({ context, objects, notes, options, queueOf }: Scene): Controller {
  const evictor = createEvictor(context, objects.evictions, notes, options);
  const queue = queueOf('evictor', evictor.reconcile, PARALLEL_EVICTIONS);
  return {
    queue,
    onTarget: (_, eviction) => {
      if (eviction !== undefined) queue.add(eviction);
    },
    onPod: (key) => {
      for (const eviction of objects.evictions.under(key)) queue.add(keyOf(eviction));
    },
    onBudget: (key) => {
      for (const eviction of evictor.budgetChanged(key)) queue.add(eviction);
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
  let controllers: readonly Controller[] = [];
  const onPod = (key: string): void => {
    for (const each of controllers) each.onPod(key);
  };
  const onBudget = (key: string): void => {
    for (const each of controllers) each.onBudget(key);
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
    for (const each of controllers) each.onTarget(pod, kind === 'eviction' ? key : undefined);
  });
  const events = createEventRecorder('nodemaint-lifecycle', dependencies);
  const context: LifecycleContext = { ...dependencies, events, pods, budgets };
  const mayRun = createCurrencyCheck({ ...copiesOf(objects), pods, poddisruptionbudgets: budgets }, { clock, log });
  const queueOf: Scene['queueOf'] = (name, reconcile, parallel) =>
    createWorkQueue(name, reconcile, parallel, { clock, log, mayRun });
  controllers = parts.map((part) => part({ context, objects, notes, options, queueOf }));
  const others = [pods, budgets];
  const ended = new AbortController();
  const ending = AbortSignal.any([signal, ended.signal]);
  const running = async (): Promise<void> => {
    await workWhileServed(
      { objects, others },
      async (until) => {
        await Promise.all(controllers.map(({ queue }) => queue.run(until)));
      },
      dependencies,
      ending,
    );
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
