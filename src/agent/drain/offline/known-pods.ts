import * as z from 'zod';
import type { Pod } from '../../../api/pod.ts';
import type { KnownPod } from '../../../decide/shutdown/runtime-pods.ts';
import { drainPodOf } from '../../../decide/pod.ts';
import { describeError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import type { StateFiles } from '../../../host/files/state-files.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { collectionPath, onNode, PODS, sendForObject } from '../../../kube/resource.ts';
import type { Log } from '../../../telemetry/log.ts';

/** What the API server or the kubelet told of this node's pods, kept on disk for a drain in which no API server answers. */
export interface KnownPods {
  /**
   * By UID. The kubelet is asked for pods of `uids` that the record does not have, where it serves its Pods API; one that does
   * not answer is no error.
   */
  read(uids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, KnownPod>>;
  /**
   * Asks the API server again after an hour while the node is up, and once when it goes down: later there may be none. A
   * server that does not answer is no error.
   */
  refresh(isUp: boolean, signal: AbortSignal): Promise<void>;
}

export interface KnownPodsDependencies {
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
  pods: z.array(z.object({ uid: z.string(), podType: z.enum(['Default', 'DaemonSet', 'Static']), priority: z.int() })),
});

const FILE = 'pods.json';
/** The time between two lists. A younger pod is taken for one of priority 0, which most pods have. */
const REFRESH_MS = 3_600_000;
/** The time to the next list after one that failed. */
const RETRY_MS = 60_000;
const TIMEOUT_MS = 5_000;
/** A shutdown waits for the answer. */
const SHORT_TIMEOUT_MS = 2_000;

function knownPodsOf(pods: readonly Pod[]): ReadonlyMap<string, KnownPod> {
  return new Map(
    pods.map((pod) => {
      const { uid, podType, priority } = drainPodOf(pod);
      return [uid, { podType, priority }];
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
  return (await sendForObject<{ items: readonly Pod[] }>(client, request, [], limited))?.items ?? [];
}

export function createKnownPods(dependencies: KnownPodsDependencies): KnownPods {
  const { state, nodeName, client, kubeletPods, clock, log } = dependencies;
  /** Both on the monotonic clock; 0 before the first question. */
  let dueAt = 0;
  let kubeletDueAt = 0;
  let wasUp = false;

  const recorded = async (): Promise<ReadonlyMap<string, KnownPod>> => {
    const text = await state.read(FILE);
    if (text === undefined) return new Map();
    try {
      const { pods } = fileSchema.parse(JSON.parse(text));
      return new Map(pods.map(({ uid, ...pod }) => [uid, pod]));
    } catch (error) {
      log.warn({ file: FILE, reason: describeError(error) }, 'what was known of the pods cannot be read');
      return new Map();
    }
  };
  const record = async (known: ReadonlyMap<string, KnownPod>): Promise<void> => {
    const pods = [...known].map(([uid, pod]) => ({ uid, ...pod }));
    await state.write(FILE, `${JSON.stringify({ version: 1, pods })}\n`);
  };

  return {
    read: async (uids, signal) => {
      const known = await recorded();
      if (uids.every((uid) => known.has(uid)) || clock.monotonic() < kubeletDueAt) return known;
      kubeletDueAt = clock.monotonic() + RETRY_MS;
      try {
        const pods = await kubeletPods(signal);
        if (pods === undefined) return known;
        const all = new Map([...known, ...knownPodsOf(pods)]);
        await record(all);
        log.info({ pods: all.size }, 'the kubelet told of pods that were not known yet');
        return all;
      } catch (error) {
        signal.throwIfAborted();
        log.debug({ reason: describeError(error) }, 'the kubelet does not tell of its pods');
        return known;
      }
    },
    refresh: async (isUp, signal) => {
      const goesDown = wasUp && !isUp;
      wasUp = isUp;
      if (client === undefined || (!isUp && !goesDown)) return;
      if (isUp && clock.monotonic() < dueAt) return;
      dueAt = clock.monotonic() + RETRY_MS;
      try {
        const timeoutMs = isUp ? TIMEOUT_MS : SHORT_TIMEOUT_MS;
        await record(knownPodsOf(await fetchPods(client, { nodeName, timeoutMs }, signal)));
        dueAt = clock.monotonic() + REFRESH_MS;
      } catch (error) {
        signal.throwIfAborted();
        log.debug({ reason: describeError(error) }, "cannot ask for the node's pods");
      }
    },
  };
}
