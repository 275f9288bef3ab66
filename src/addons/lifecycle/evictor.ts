/** The responder `imperative-eviction.k8s.io/evictor`: the engine of evictions, by the adapter. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { type Eviction, IMPERATIVE_RESPONDER, LIFECYCLE_API_VERSION } from '../../api/lifecycle.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import {
  engineView,
  evictorMessage,
  responderEntry,
  type ResponderNames,
  saysEvicted,
} from '../../decide/lifecycle/translation.ts';
import { rememberedPause } from '../../decide/lifecycle/remembered-pause.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { createEvictionEngine, type EngineHabits, type EngineNeeds } from '../../kube/eviction/imperative.ts';
import type { TargetedObjects } from '../../kube/lifecycle/objects.ts';
import { createResponderLoop } from '../../kube/lifecycle/responder-loop.ts';
import { findTarget, type TargetNotes } from '../../kube/lifecycle/target-notes.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { keyOf } from '../../kube/resource.ts';
import type { LifecycleContext } from './context.ts';

const NAMES: ResponderNames = { responder: IMPERATIVE_RESPONDER, interceptor: IMPERATIVE_INTERCEPTOR };

/** What a flag may change of the evictor. */
export type EvictorOptions = Partial<Pick<EngineHabits, 'patience' | 'promiseWords'>>;

/** The default evictor. */
interface Evictor {
  readonly reconcile: Reconcile;
  /** The Evictions that are worth another attempt after this PodDisruptionBudget has changed. */
  budgetChanged(key: string): readonly string[];
}

/** Makes an Event of an attempt that is blocked: without the count and the numbers, so that it is one that counts up. */
function recordBlocked(events: EventRecorder): EngineNeeds['onAttempt'] {
  return ({ metadata, spec }: EvictionRequest, outcome) => {
    if (outcome.kind !== 'blocked') return;
    const which = outcome.budgets.length === 0 ? '' : ` by PodDisruptionBudget ${outcome.budgets.join(', ')}`;
    const message = `The eviction of pod ${spec.target.pod.name} is blocked${which}.`;
    const subject = { metadata, apiVersion: LIFECYCLE_API_VERSION, kind: 'Eviction' };
    events.record(subject, { type: 'Warning', reason: 'EvictionBlocked', message });
  };
}

/** Creates the default evictor. */
export function createEvictor(
  context: LifecycleContext,
  evictions: TargetedObjects<Eviction>,
  notes: TargetNotes,
  options: EvictorOptions = {},
): Evictor {
  const engine = createEvictionEngine({
    ...context,
    ...options,
    request: (key) => {
      const eviction = evictions.get(key);
      return eviction === undefined ? undefined : engineView(eviction, NAMES);
    },
    onAttempt: recordBlocked(context.events),
    remember: rememberedPause,
    quietMs: () => 0,
  });
  const { reconcile } = createResponderLoop(engine, IMPERATIVE_RESPONDER, {
    ...context,
    eviction: (key) => evictions.get(key),
    pod: (eviction, signal) => findTarget(context, notes, eviction, signal),
    words: (eviction, message) => {
      const said = responderEntry(eviction, IMPERATIVE_RESPONDER)?.message;
      const isOurs = engine.isAccepted(keyOf(eviction)) || saysEvicted(said);
      return evictorMessage(eviction.spec.target.pod?.name ?? '', message, isOurs);
    },
  });
  return { reconcile, budgetChanged: (key) => engine.budgetChanged(key) };
}
