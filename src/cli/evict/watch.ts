import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { otherRequesters } from '../../decide/eviction/requester.ts';
import { type EvictProgress, evictProgress, type EvictTarget, isOver } from '../../show/progress/eviction-progress.ts';
import { describeError } from '../../errors.ts';
import { createSystemClock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { RequesterClient } from '../../kube/eviction/requester.ts';
import { EVICTION_REQUESTS, PODS } from '../../kube/resource.ts';
import { transformPod, withoutManagers } from '../../kube/cache/transform.ts';
import { printable } from '../../printable.ts';
import { Follower, type FollowStop } from '../follow/follower.ts';
import { podState } from '../follow/maintenance/drain-text.ts';
import { writeTimedLine, type Terminal } from '../terminal/terminal.ts';

/** What watching needs from outside. */
interface EvictWatchContext {
  readonly client: KubeClient;
  readonly requester: RequesterClient;
  /** The name of the requester entry. */
  readonly name: string;
  readonly namespace: string;
  /** Whether nothing is shown: the objects are printed at the end. */
  readonly isSilent: boolean;
  readonly terminal: Pick<Terminal, 'write' | 'warn' | 'now' | 'stop' | 'signal'>;
}

/** How watching ended. */
export interface EvictWatchResult {
  readonly ending: 'over' | FollowStop;
  /** How far each pod was, by its name. */
  readonly progress: ReadonlyMap<string, EvictProgress>;
  /** The last known version of each request, in the order of the pods. */
  readonly requests: readonly EvictionRequest[];
}

/** A pod whose eviction is watched, and what is known of it. */
interface WatchedPod {
  readonly target: EvictTarget;
  progress?: EvictProgress;
  /** The line that was written last. */
  line?: string;
  /** As it was seen last. */
  request?: EvictionRequest;
  /** On the monotonic clock. */
  goneAt?: number;
  /** The removal of the finished request. */
  cleanUp?: Promise<void>;
}

/** How long a pod that is gone waits for the controller to confirm its eviction, which takes a moment. */
const CONFIRMATION_MS = 5_000;

/**
 * Deletes a finished request, or removes our requester entry where others still have theirs (KEP-4563, "EvictionRequest
 * Completion and Deletion"). A failure is a warning: the controller deletes the request later.
 */
async function cleanUp(request: EvictionRequest, context: EvictWatchContext): Promise<void> {
  const { requester, name, terminal } = context;
  try {
    if (otherRequesters(request, name).length === 0) await requester.remove(request, true, terminal.signal);
    else await requester.withdraw(request, terminal.signal);
  } catch (error) {
    if (terminal.signal.aborted) return;
    const what = `the finished EvictionRequest of pod "${request.spec.target.pod.name}" is left to the controller`;
    terminal.warn(`warning: ${what}: ${printable(describeError(error))}\n`);
  }
}

/** What a pod waits for, or how its eviction ended. */
function lineOf({ name }: EvictTarget, progress: EvictProgress): string {
  return `pod/${name} ${isOver(progress) ? `${progress.state}: ${progress.message}` : podState({ progress })}`;
}

function isDone({ progress, goneAt }: WatchedPod, monotonicNow: number): boolean {
  if (progress === undefined || !isOver(progress)) return false;
  return progress.state !== 'gone' || monotonicNow - (goneAt ?? monotonicNow) >= CONFIRMATION_MS;
}

/**
 * Writes a line for each pod whenever what it waits for changes, until every pod is gone or its eviction is canceled,
 * `timeoutMs` milliseconds are over (undefined: no limit), or the person stops it. Cleans up the requests of evicted pods.
 * Throws API_REFUSED where the watch is not allowed.
 */
export async function watchEvictions(
  targets: readonly EvictTarget[],
  context: EvictWatchContext,
  timeoutMs: number | undefined,
): Promise<EvictWatchResult> {
  const { client, namespace, isSilent, terminal } = context;
  const clock = createSystemClock();
  const say = (text: string): void => {
    if (!isSilent) writeTimedLine(terminal, text);
  };
  const follower = new Follower({ client, clock, say });
  // A single object can be watched with rights for it alone.
  const [only] = targets.length === 1 ? targets : [];
  const scope = (key: string | undefined): { namespace: string; fieldSelector?: string } => ({
    namespace,
    ...(key === undefined ? {} : { fieldSelector: `metadata.name=${key}` }),
  });
  const pods = follower.copy<Pod>({ resource: PODS, ...scope(only?.name) }, transformPod);
  const requests = follower.copy<EvictionRequest>(
    { resource: EVICTION_REQUESTS, ...scope(only?.uid) },
    withoutManagers,
  );
  const lookAt = (watched: WatchedPod): void => {
    const { target, progress: before } = watched;
    // "gone" becomes "evicted" when the controller confirms it; the other endings are final.
    if (before !== undefined && isOver(before) && before.state !== 'gone') return;
    const request = requests.get(`${namespace}/${target.uid}`);
    const progress = evictProgress(target, request, pods.get(`${namespace}/${target.name}`), clock.now());
    watched.progress = progress;
    if (request !== undefined) watched.request = request;
    if (progress.state === 'gone') watched.goneAt ??= clock.monotonic();
    if (progress.state === 'evicted' && request !== undefined) watched.cleanUp = cleanUp(request, context);
    const line = lineOf(target, progress);
    if (line !== watched.line) say(line);
    watched.line = line;
  };
  const all = targets.map((target): WatchedPod => ({ target }));
  const look = (): 'over' | undefined => {
    if (!follower.synced()) return undefined;
    for (const each of all) lookAt(each);
    return all.every((each) => isDone(each, clock.monotonic())) ? 'over' : undefined;
  };
  const ending = await follower.run({ look, timeoutMs }, terminal.stop);
  await Promise.all(all.flatMap(({ cleanUp }) => cleanUp ?? []));
  return {
    ending,
    progress: new Map(
      all.flatMap(({ target, progress }) => (progress === undefined ? [] : [[target.name, progress] as const])),
    ),
    requests: all.flatMap(({ request }) => request ?? []),
  };
}
