/** The responder `imperative-eviction.k8s.io/evictor`: the engine's imperative eviction, by the adapter. */
import { type Eviction, IMPERATIVE_RESPONDER, LIFECYCLE_API_VERSION } from '../../api/lifecycle.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import {
  engineView,
  evictorMessage,
  responderEntry,
  type ResponderNames,
  saysEvicted,
} from '../../decide/lifecycle/engine-view.ts';
import { rememberedPause } from '../../decide/lifecycle/memory.ts';
import { createResponderLoop } from '../../kube/lifecycle/responder-loop.ts';
import type { Interceptor } from '../../kube/eviction/interceptor.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { keyOf } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { createImperativeEviction } from '../eviction/imperative.ts';
import type { TargetedObjects } from './objects.ts';
import { findTarget, type TargetNotes } from './target-notes.ts';

const NAMES: ResponderNames = { responder: IMPERATIVE_RESPONDER, interceptor: IMPERATIVE_INTERCEPTOR };

/** Events of the engine about its request are about the Eviction. */
function aboutEvictions(events: EventRecorder): EventRecorder {
  return {
    ...events,
    record: (subject, text) => {
      const isOfRequest = subject.kind === 'EvictionRequest';
      events.record(isOfRequest ? { ...subject, apiVersion: LIFECYCLE_API_VERSION, kind: 'Eviction' } : subject, text);
    },
  };
}

/** The default evictor. */
export interface Evictor {
  readonly reconcile: Reconcile;
  /** The Evictions that are worth another attempt after this PodDisruptionBudget has changed. */
  budgetChanged(key: string): readonly string[];
  /** The keys of the Evictions whose end is promised. */
  promised(): readonly string[];
}

/** Creates the default evictor; its client and clock are those of the lifecycle. */
export function createEvictor(
  context: ControllerContext,
  evictions: TargetedObjects<Eviction>,
  notes: TargetNotes,
): Evictor {
  const request: ControllerContext['requests']['get'] = (key) => {
    const eviction = evictions.get(key);
    return eviction === undefined ? undefined : engineView(eviction, NAMES);
  };
  const engine = createImperativeEviction(
    { ...context, requests: { ...context.requests, get: request }, events: aboutEvictions(context.events) },
    { remember: rememberedPause, quietMs: () => 0 },
  );
  const interceptor: Interceptor = {
    name: engine.name,
    act: (request, target, signal) => engine.act(request, target, signal),
    over: async (request, signal) => await engine.over?.(request, signal),
  };
  const { reconcile } = createResponderLoop(interceptor, IMPERATIVE_RESPONDER, {
    ...context,
    eviction: (key) => evictions.get(key),
    pod: (eviction, signal) => findTarget(context, notes, eviction, signal),
    words: (eviction, message) => {
      const said = responderEntry(eviction, IMPERATIVE_RESPONDER)?.message;
      const isOurs = engine.isAccepted(keyOf(eviction)) || saysEvicted(said);
      return evictorMessage(eviction.spec.target.pod?.name ?? '', message, isOurs);
    },
  });
  return { reconcile, budgetChanged: (key) => engine.budgetChanged(key), promised: () => engine.promised() };
}
