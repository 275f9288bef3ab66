import * as z from 'zod';
import type { Pod } from '../../../api/pod.ts';
import type { KnownPod } from '../../../decide/shutdown/runtime-pods.ts';
import { drainPodOf } from '../../../decide/pod.ts';
import { describeError, NodemaintError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import type { StateFiles } from '../../../host/files/state-files.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { collectionPath, onNode, PODS, sendForObject } from '../../../kube/resource.ts';
import type { Log } from '../../../telemetry/log.ts';

/** What is known of the pods of the node. */
export interface PodKnowledge {
  /** By UID. */
  readonly pods: ReadonlyMap<string, KnownPod>;
  /** Why more may be known in a moment: the kubelet has not told of a pod yet. Absent where nobody will tell more. */
  readonly awaited?: string;
}

/** What the API server or the kubelet told of this node's pods, kept on disk for a drain in which no API server answers. */
export interface KnownPods {
  /**
   * The kubelet is asked for pods of `uids` that the record does not have, where it serves its Pods API. One that does not
   * answer is no error: it is waited for, for some seconds. What it tells is known to this process until `save`.
   */
  read(uids: readonly string[], signal: AbortSignal): Promise<PodKnowledge>;
  /**
   * Asks the API server again after an hour while the node is up, and until it has answered once when it goes down: later
   * there may be none. A server that does not answer is no error.
   */
  refresh(when: keyof typeof QUESTIONS, signal: AbortSignal): Promise<void>;
  /** Writes what the kubelet told: once it is stopped it tells no more, not even to an agent that is restarted. */
  save(): Promise<void>;
}

interface KnownPodsDependencies {
  readonly state: StateFiles;
  readonly nodeName: string;
  readonly client: KubeClient | undefined;
  /** All pods that the kubelet has; undefined where it has no API for that, and throws where it does not tell. */
  readonly kubeletPods: (signal: AbortSignal) => Promise<readonly Pod[] | undefined>;
  readonly clock: Clock;
  readonly log: Log;
}

const fileSchema = z.object({
  version: z.literal(1),
  pods: z.array(
    z.object({
      uid: z.string(),
      podType: z.enum(['Default', 'DaemonSet', 'Static']),
      priority: z.int(),
      order: z.literal([1, 2]).exactOptional(),
    }),
  ),
});

const FILE = 'pods.json';
/**
 * How the API server is asked: for how long one question may take, and how soon the next follows one that failed and one
 * that was answered. Between two lists a younger pod is taken for one of priority 0, which most pods have. A shutdown waits
 * for the answer.
 */
const QUESTIONS = {
  up: { timeoutMs: 5_000, retryMs: 60_000, nextMs: 3_600_000 },
  goingDown: { timeoutMs: 2_000, retryMs: 15_000, nextMs: Infinity },
} as const;
/** The time to the next question to a kubelet that has told, or does not tell. */
const RETRY_MS = 60_000;
/** So long a kubelet that does not answer is waited for before pods that it alone could tell of count as of priority 0. */
const KUBELET_SILENT_MS = 10_000;

function knownPodsOf(pods: readonly Pod[]): ReadonlyMap<string, KnownPod> {
  return new Map(
    pods.map((pod) => {
      const { uid, podType, priority, order } = drainPodOf(pod);
      return [uid, { podType, priority, ...(order === undefined ? {} : { order }) }];
    }),
  );
}

async function fetchPods(
  client: KubeClient,
  { nodeName, timeoutMs }: { readonly nodeName: string; readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<readonly Pod[]> {
  // Version 0: from the API server's cache, which costs etcd nothing.
  const query = new URLSearchParams({ fieldSelector: onNode(nodeName), resourceVersion: '0' }).toString();
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const request = { method: 'GET', path: `${collectionPath(PODS)}?${query}` } as const;
  const list = await sendForObject<{ items?: readonly Pod[] }>(client, request, [], limited);
  if (!Array.isArray(list?.items)) throw new NodemaintError('API_REFUSED', 'the answer is no list of pods');
  return list.items;
}

/** What was known the last time. */
interface PodRecord {
  read(): Promise<ReadonlyMap<string, KnownPod>>;
  write(known: ReadonlyMap<string, KnownPod>): Promise<void>;
}

function createPodRecord(state: StateFiles, log: Pick<Log, 'warn'>): PodRecord {
  return {
    read: async () => {
      const text = await state.read(FILE);
      if (text === undefined) return new Map();
      try {
        const { pods } = fileSchema.parse(JSON.parse(text));
        return new Map(pods.map(({ uid, ...pod }) => [uid, pod]));
      } catch (error) {
        log.warn({ file: FILE, reason: describeError(error) }, 'what was known of the pods cannot be read');
        return new Map();
      }
    },
    write: async (known) => {
      const pods = [...known].map(([uid, pod]) => ({ uid, ...pod }));
      await state.write(FILE, `${JSON.stringify({ version: 1, pods })}\n`);
    },
  };
}

/** Asks the kubelet for pods that the record does not have, and gives what it tells to `keep`. */
function createKubeletQuestion(
  { kubeletPods, clock, log }: KnownPodsDependencies,
  keep: (pods: PodKnowledge['pods']) => void,
): (known: PodKnowledge['pods'], signal: AbortSignal) => Promise<PodKnowledge> {
  /** Both on the monotonic clock: when it is asked again, and since when it has not answered. */
  let dueAt = 0;
  let silentSince: number | undefined;
  return async (known, signal) => {
    if (clock.monotonic() < dueAt) return { pods: known };
    try {
      const told = await kubeletPods(signal);
      dueAt = clock.monotonic() + RETRY_MS;
      silentSince = undefined;
      if (told === undefined) return { pods: known };
      const pods = new Map([...known, ...knownPodsOf(told)]);
      keep(pods);
      log.info({ pods: pods.size }, 'the kubelet told of pods that were not known yet');
      return { pods };
    } catch (error) {
      signal.throwIfAborted();
      const reason = describeError(error);
      log.debug({ reason }, 'the kubelet does not tell of its pods');
      silentSince ??= clock.monotonic();
      if (clock.monotonic() - silentSince < KUBELET_SILENT_MS) {
        return { pods: known, awaited: `the kubelet does not tell of pods that are new: ${reason}` };
      }
      silentSince = undefined;
      dueAt = clock.monotonic() + RETRY_MS;
      return { pods: known };
    }
  };
}

export function createKnownPods(dependencies: KnownPodsDependencies): KnownPods {
  const { state, nodeName, client, clock, log } = dependencies;
  const record = createPodRecord(state, log);
  /** With what the kubelet told, and not written yet; undefined where the file has all. */
  let unsaved: PodKnowledge['pods'] | undefined;
  const askKubelet = createKubeletQuestion(dependencies, (pods) => {
    unsaved = pods;
  });
  /** When the API server is asked the next time, on the monotonic clock. */
  const dueAt = { up: 0, goingDown: 0 };
  return {
    read: async (uids, signal) => {
      const pods = unsaved ?? (await record.read());
      return uids.every((uid) => pods.has(uid)) ? { pods } : await askKubelet(pods, signal);
    },
    refresh: async (when, signal) => {
      if (client === undefined) return;
      // The next shutdown asks at once.
      if (when === 'up') dueAt.goingDown = 0;
      if (clock.monotonic() < dueAt[when]) return;
      const { timeoutMs, retryMs, nextMs } = QUESTIONS[when];
      dueAt[when] = clock.monotonic() + retryMs;
      try {
        const pods = knownPodsOf(await fetchPods(client, { nodeName, timeoutMs }, signal));
        unsaved = undefined;
        await record.write(pods);
        dueAt[when] = clock.monotonic() + nextMs;
      } catch (error) {
        signal.throwIfAborted();
        log.debug({ reason: describeError(error) }, "cannot ask for the node's pods");
      }
    },
    save: async () => {
      if (unsaved === undefined) return;
      await record.write(unsaved);
      unsaved = undefined;
    },
  };
}
