import * as z from 'zod';
import type { Pod } from '../../../api/pod.ts';
import type { KnownPod } from '../../../decide/shutdown/runtime-pods.ts';
import { podTypeOf } from '../../../decide/pod.ts';
import { describeError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import type { StateFiles } from '../../../host/files/state-files.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { collectionPath, onNode, PODS, sendForObject } from '../../../kube/resource.ts';
import type { Log } from '../../../telemetry/log.ts';

/** What the API server told of this node's pods, kept on disk for a drain in which it does not answer. */
export interface KnownPods {
  /** By UID, as it was read last. */
  read(): Promise<ReadonlyMap<string, KnownPod>>;
  /** Asks the API server again after an hour; a server that does not answer is no error. */
  refresh(signal: AbortSignal): Promise<void>;
}

export interface KnownPodsDependencies {
  readonly state: StateFiles;
  readonly nodeName: string;
  readonly client: KubeClient | undefined;
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

export function createKnownPods({ state, nodeName, client, clock, log }: KnownPodsDependencies): KnownPods {
  /** On the monotonic clock; undefined before the first question. */
  let dueAt: number | undefined;

  const fetchPods = async (api: KubeClient, signal: AbortSignal): Promise<readonly Pod[]> => {
    // Version 0: from the API server's cache, which costs etcd nothing.
    const query = new URLSearchParams({ fieldSelector: onNode(nodeName), resourceVersion: '0' }).toString();
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const request = { method: 'GET', path: `${collectionPath(PODS)}?${query}` } as const;
    return (await sendForObject<{ items: readonly Pod[] }>(api, request, [], limited))?.items ?? [];
  };

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
    refresh: async (signal) => {
      if (client === undefined || clock.monotonic() < (dueAt ?? 0)) return;
      dueAt = clock.monotonic() + RETRY_MS;
      try {
        const items = await fetchPods(client, signal);
        const pods = items.map((pod) => {
          return { uid: pod.metadata.uid ?? '', podType: podTypeOf(pod), priority: pod.spec.priority ?? 0 };
        });
        await state.write(FILE, `${JSON.stringify({ version: 1, pods })}\n`);
        dueAt = clock.monotonic() + REFRESH_MS;
      } catch (error) {
        signal.throwIfAborted();
        log.debug({ reason: describeError(error) }, "cannot ask for the node's pods");
      }
    },
  };
}
