/** The protocol of a responder of `lifecycle.k8s.io`: that of an interceptor, by the adapter between the two dialects. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Eviction } from '../../api/lifecycle.ts';
import type { Pod } from '../../api/pod.ts';
import { isTerminal } from '../../decide/pod.ts';
import {
  endedMessage,
  engineView,
  isResponderActive,
  responderEntry,
  type ResponderNames,
} from '../../decide/lifecycle/translation.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { KubeClient } from '../client.ts';
import type { Interceptor } from '../eviction/interceptor.ts';
import { createInterceptorLoop, type InterceptorLoop } from '../eviction/interceptor-loop.ts';
import { createRecentWrites } from '../read-your-writes.ts';
import { keyOf, objectPath, PODS, sendForObject } from '../resource.ts';
import { runWatchedLoop } from '../eviction/watched-loop.ts';
import { type Read, readEviction } from './parse.ts';
import { EVICTIONS } from './resources.ts';
import { reportAsResponder } from './responder.ts';
import { withServerClock } from '../server-clock.ts';

/** What the loop of a responder works with. */
interface ResponderDependencies {
  readonly client: KubeClient;
  /** The clock of the API server. */
  readonly clock: Clock;
  readonly log: Log;
  readonly eviction: (key: string) => Eviction | undefined;
  /** The target of the Eviction; undefined where the pod of this UID is gone. */
  readonly pod: (eviction: Eviction, signal: AbortSignal) => Promise<Pod | undefined>;
  /** What the message of a report becomes; the same unless given. */
  readonly words?: (eviction: Eviction, message: string) => string;
}

/** The loop of a responder. `names.interceptor` is the name of the interceptor. */
export function createResponderLoop(
  interceptor: Interceptor,
  responder: string,
  dependencies: ResponderDependencies,
): InterceptorLoop {
  const { client, clock, words = (_, message): string => message } = dependencies;
  const names: ResponderNames = { responder, interceptor: interceptor.name };
  const ownWrites = createRecentWrites<Eviction>();
  const best = (key: string): Eviction | undefined => ownWrites.latest(key, dependencies.eviction(key));
  const viewOf = (eviction: Eviction | undefined): EvictionRequest | undefined =>
    eviction === undefined ? undefined : engineView(eviction, names);
  const write = async (
    eviction: Eviction,
    progress: Parameters<typeof reportAsResponder>[2]['progress'],
    signal: AbortSignal,
  ): Promise<Eviction | undefined> => {
    const key = keyOf(eviction);
    const report = { responder, progress, now: clock.now() };
    const after = await reportAsResponder(client, eviction, report, signal);
    if (after !== undefined) ownWrites.note(key, dependencies.eviction(key), after);
    return after;
  };
  const loop = createInterceptorLoop(interceptor, {
    ...dependencies,
    request: (key) => viewOf(best(key)),
    pod: async (request, signal) => {
      const eviction = best(keyOf(request));
      return eviction === undefined ? undefined : await dependencies.pod(eviction, signal);
    },
    report: async (request, { step }, signal) => {
      const eviction = best(keyOf(request));
      if (eviction === undefined || step.kind === 'silent') return undefined;
      const { kind, message, ...estimate } = step;
      const progress = { ...estimate, message: words(eviction, message), completed: kind === 'completed' };
      return viewOf(await write(eviction, progress, signal));
    },
  });
  return {
    changed: loop.changed,
    reconcile: async (key, signal) => {
      if (dependencies.eviction(key) === undefined) ownWrites.forget(key);
      const eviction = best(key);
      if (eviction === undefined || !isResponderActive(eviction, responder)) return await loop.reconcile(key, signal);
      // It is active no longer as soon as the controller has read that.
      if (responderEntry(eviction, responder)?.completionTime !== undefined) return {};
      const pod = await dependencies.pod(eviction, signal);
      if (pod !== undefined && !isTerminal(pod)) return await loop.reconcile(key, signal);
      const wasDeleted = pod === undefined || pod.metadata.deletionTimestamp !== undefined;
      const message = endedMessage(eviction.spec.target.pod?.name ?? '', pod?.status?.phase, wasDeleted);
      await write(eviction, { message, completed: true }, signal);
      return {};
    },
  };
}

/**
 * Runs a responder of its own until the signal is aborted: watches the Evictions that carry its name as a label, and reads a
 * target when it is the active responder. `responder` is its name on pods and Evictions, such as `example.com/backup`.
 */
export async function runResponder(
  interceptor: Interceptor,
  scope: { readonly responder: string; readonly parallel?: number },
  dependencies: { readonly client: KubeClient; readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  const { responder, parallel = 1 } = scope;
  const own = { ...dependencies, ...withServerClock(dependencies.client, dependencies.clock) };
  const labelSelector = `${responder} in (responder,requester-responder)`;
  await runWatchedLoop<Read<Eviction>>(
    {
      name: responder,
      parallel,
      scope: { resource: EVICTIONS, labelSelector },
      read: readEviction,
      loopOver: (evictions) =>
        createResponderLoop(interceptor, responder, {
          ...own,
          eviction: (key) => evictions.get(key)?.read,
          pod: async ({ metadata, spec }, wait) => {
            const { name = '', uid } = spec.target.pod ?? {};
            const path = objectPath(PODS, { name, namespace: metadata.namespace ?? '' });
            const pod = await sendForObject<Pod>(own.client, { method: 'GET', path }, [404], wait);
            return pod?.metadata.uid === uid ? pod : undefined;
          },
        }),
    },
    own,
    signal,
  );
}
