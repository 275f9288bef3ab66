import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { transformPod, transformRequest } from '../../kube/transform.ts';
import { type EvictProgress, evictProgress, type EvictTarget, isOver } from '../../decide/view/eviction-progress.ts';
import { otherRequesters } from '../../decide/eviction/requester.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { EVICTION_REQUESTS, PODS } from '../../kube/resource.ts';
import { missingPermission } from '../../kube/refusal.ts';
import type { EvictionRequester } from '../../kube/eviction/requester.ts';
import { createObjectCache } from '../../kube/watch.ts';
import type { Log } from '../../telemetry/log.ts';
import { printable } from '../../printable.ts';
import type { EvictScreen } from './screen.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** What watching needs from outside. */
export interface EvictWatchContext {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly requester: EvictionRequester;
  /** The name of the requester entry. */
  readonly name: string;
  readonly namespace: string;
  readonly screen: EvictScreen;
  readonly terminal: Terminal;
}

/** How watching ended. */
export interface EvictWatchResult {
  readonly ending: 'over' | 'timeout' | 'interrupted';
  /** How far each pod was, by its name. */
  readonly progress: ReadonlyMap<string, EvictProgress>;
  /** The requests as they were seen last, in the order of the pods. */
  readonly requests: readonly EvictionRequest[];
}

const TICK_MS = 1_000;
/** A controller that lives says so within a moment after the pod has gone; it is not waited for longer. */
const CONFIRMATION_MS = 5_000;
/** A lost connection is mentioned until it must have been taken up again. */
const OUTAGE_SLACK_MS = 2_000;

/** Whether the server denied us something, rather than being in trouble itself. */
function isDenial(error: unknown): error is NodemaintError {
  const words = /is forbidden|Unauthorized|ended with 40[13]/;
  return error instanceof NodemaintError && error.code === 'API_REFUSED' && words.test(error.message);
}

/**
 * Shows the evictions of the targets until every pod is gone or canceled, the time is over, or `stop` is aborted. Where
 * a pod was evicted, takes the request away, or just our entry if others still have theirs (KEP-4563, "EvictionRequest
 * Completion and Deletion"). Throws API_REFUSED where the watch is not allowed. `signal` ends everything at once.
 */
export async function watchEvictions(
  targets: readonly EvictTarget[],
  context: EvictWatchContext,
  timeoutMs: number | undefined,
  stop: AbortSignal,
  signal: AbortSignal,
): Promise<EvictWatchResult> {
  const { client, clock, requester, name, namespace, screen } = context;
  const startedAt = clock.monotonic();
  const byKey = new Map<string, EvictTarget>();
  for (const target of targets) {
    byKey.set(`${namespace}/${target.name}`, target);
    byKey.set(`${namespace}/${target.uid}`, target);
  }
  const progress = new Map<string, EvictProgress>();
  const seen = new Map<string, EvictionRequest>();
  const goneAt = new Map<string, number>();
  const cleaned = new Map<string, Promise<void>>();
  const ending = new AbortController();
  let nap = new AbortController();
  let outageUntil = 0;
  let refused: NodemaintError | undefined;

  const wake = (): void => {
    nap.abort();
  };

  const cleanUp = async (request: EvictionRequest): Promise<void> => {
    const isOurs = otherRequesters(request, name).length === 0;
    try {
      if (isOurs) await requester.remove(request, true, signal);
      else await requester.withdraw(request, signal);
    } catch (error) {
      if (signal.aborted) return;
      const what = `the finished EvictionRequest of pod "${request.spec.target.pod.name}" stays for the controller`;
      context.terminal.warn(`warning: ${what}: ${printable(describeError(error))}\n`);
    }
  };

  const look = (target: EvictTarget): void => {
    if (!pods.synced() || !requests.synced()) return;
    const before = progress.get(target.name);
    if (before !== undefined && isOver(before) && before.state !== 'gone') return;
    const request = requests.get(`${namespace}/${target.uid}`);
    if (request !== undefined) seen.set(target.uid, request);
    const after = evictProgress(target, request, pods.get(`${namespace}/${target.name}`), clock.now());
    if (after.state === 'gone' && !goneAt.has(target.uid)) goneAt.set(target.uid, clock.monotonic());
    if (after.state === 'evicted' && request !== undefined) cleaned.set(target.uid, cleanUp(request));
    progress.set(target.name, after);
    screen.changed(target.name, after);
  };

  const onChange = (key: string): void => {
    const target = byKey.get(key);
    if (target === undefined) return;
    look(target);
    wake();
  };

  const onTrouble = (fields: object): void => {
    const { err, retryMs = 0 } = fields as { readonly err?: unknown; readonly retryMs?: number };
    // At the very beginning it will be so for ever; later it may be a server that just starts.
    if (isDenial(err) && (!pods.synced() || !requests.synced())) {
      refused ??= new NodemaintError('API_REFUSED', `${err.message}${missingPermission(err.message)}`, { cause: err });
    }
    outageUntil = clock.monotonic() + 1.5 * retryMs + OUTAGE_SLACK_MS;
    screen.note(`The connection is lost, and tried again: ${describeError(err)}`);
    wake();
  };
  // The caches report to a log what they go on after.
  const log: Log = { debug: () => undefined, info: () => undefined, warn: onTrouble, error: onTrouble };

  // A single object can be watched with rights for it alone.
  const [only] = targets.length === 1 ? targets : [];
  const scope = (key: string | undefined): { namespace: string; fieldSelector?: string } => ({
    namespace,
    ...(key === undefined ? {} : { fieldSelector: `metadata.name=${key}` }),
  });
  const dependencies = { client, clock, log };
  const pods = createObjectCache<Pod>({ resource: PODS, ...scope(only?.name) }, onChange, dependencies, transformPod);
  const requests = createObjectCache<EvictionRequest>(
    { resource: EVICTION_REQUESTS, ...scope(only?.uid) },
    onChange,
    dependencies,
    transformRequest,
  );

  const isDone = (target: EvictTarget): boolean => {
    const now = progress.get(target.name);
    if (now === undefined || !isOver(now)) return false;
    return now.state !== 'gone' || clock.monotonic() - (goneAt.get(target.uid) ?? 0) >= CONFIRMATION_MS;
  };

  const result = (how: EvictWatchResult['ending']): EvictWatchResult => ({
    ending: how,
    progress,
    requests: targets.flatMap(({ uid }) => seen.get(uid) ?? []),
  });

  const follow = async (): Promise<EvictWatchResult> => {
    for (;;) {
      nap = new AbortController();
      if (refused !== undefined) throw refused;
      if (outageUntil > 0 && clock.monotonic() > outageUntil) {
        outageUntil = 0;
        screen.note(undefined);
      }
      for (const target of targets) look(target);
      screen.draw();
      if (targets.every(isDone)) return result('over');
      if (stop.aborted) return result('interrupted');
      if (timeoutMs !== undefined && clock.monotonic() - startedAt >= timeoutMs) return result('timeout');
      await clock.sleep(TICK_MS, nap.signal).catch(() => undefined);
    }
  };

  const watching = Promise.all([pods.run(ending.signal), requests.run(ending.signal)]);
  stop.addEventListener('abort', wake, { once: true });
  try {
    const ended = await follow();
    await Promise.all(cleaned.values());
    return ended;
  } finally {
    stop.removeEventListener('abort', wake);
    ending.abort();
    await watching;
  }
}
