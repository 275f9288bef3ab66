import * as z from 'zod';
import type { Pod } from '../../../api/pod.ts';
import type { KnownPod } from '../../../decide/shutdown/running-pods.ts';
import { drainPodOf } from '../../../decide/pod.ts';
import { describeError, NodemaintError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import type { StateFiles } from '../../../host/files/state-files.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { collectionPath, onNode, PODS } from '../../../kube/resource.ts';
import { sendForObject } from '../../../kube/request.ts';
import type { Log } from '../../../telemetry/log.ts';

/** What is known of the pods of the node. */
export interface PodKnowledge {
  /** By UID. */
  readonly pods: ReadonlyMap<string, KnownPod>;
  /** Why more may be known in a moment: the kubelet has not told of a pod yet. Absent where nobody will tell more. */
  readonly awaited?: string;
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

/** What the API server or the kubelet told of this node's pods, kept on disk for a drain in which no API server answers. */
export class KnownPods {
  readonly #dependencies: KnownPodsDependencies;
  /** With what the kubelet told, and not written yet; undefined where the file has all. */
  #unsaved: PodKnowledge['pods'] | undefined;
  /** When the API server, in both cases, and the kubelet are asked the next time, on the monotonic clock. */
  readonly #dueAt = { up: 0, goingDown: 0, kubelet: 0 };
  /** Since when the kubelet has not answered, on the monotonic clock. */
  #silentSince: number | undefined;

  constructor(dependencies: KnownPodsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The kubelet is asked for pods of `uids` that the record does not have, where it serves its Pods API. One that does not
   * answer is no error: it is waited for, for some seconds. What it tells is known to this process until `save`.
   */
  async read(uids: readonly string[], signal: AbortSignal): Promise<PodKnowledge> {
    const pods = this.#unsaved ?? (await this.#recorded());
    const isDue = this.#dependencies.clock.monotonic() >= this.#dueAt.kubelet;
    return !isDue || uids.every((uid) => pods.has(uid)) ? { pods } : await this.#askKubelet(pods, signal);
  }

  /**
   * Asks the API server again after an hour while the node is up, and until it has answered once when it goes down: later
   * there may be none. A server that does not answer is no error.
   */
  async refresh(when: keyof typeof QUESTIONS, signal: AbortSignal): Promise<void> {
    const { client, clock, log } = this.#dependencies;
    if (client === undefined) return;
    // The next shutdown asks at once.
    if (when === 'up') this.#dueAt.goingDown = 0;
    if (clock.monotonic() < this.#dueAt[when]) return;
    const { timeoutMs, retryMs, nextMs } = QUESTIONS[when];
    this.#dueAt[when] = clock.monotonic() + retryMs;
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const pods = knownPodsOf(await this.#fetch(client, limited));
      this.#unsaved = undefined;
      await this.#write(pods);
      this.#dueAt[when] = clock.monotonic() + nextMs;
    } catch (error) {
      signal.throwIfAborted();
      log.debug({ reason: describeError(error) }, "cannot ask for the node's pods");
    }
  }

  /** Writes what the kubelet told: once it is stopped it tells no more, not even to an agent that is restarted. */
  async save(): Promise<void> {
    if (this.#unsaved === undefined) return;
    await this.#write(this.#unsaved);
    this.#unsaved = undefined;
  }

  async #fetch(client: KubeClient, signal: AbortSignal): Promise<readonly Pod[]> {
    // Version 0: from the API server's cache, which costs etcd nothing.
    const fieldSelector = onNode(this.#dependencies.nodeName);
    const query = new URLSearchParams({ fieldSelector, resourceVersion: '0' }).toString();
    const request = { method: 'GET', path: `${collectionPath(PODS)}?${query}` } as const;
    const list = await sendForObject<{ items?: readonly Pod[] }>(client, request, [], signal);
    if (!Array.isArray(list?.items)) throw new NodemaintError('API_REFUSED', 'the answer is no list of pods');
    return list.items;
  }

  async #askKubelet(known: PodKnowledge['pods'], signal: AbortSignal): Promise<PodKnowledge> {
    const { kubeletPods, clock, log } = this.#dependencies;
    try {
      const told = await kubeletPods(signal);
      this.#dueAt.kubelet = clock.monotonic() + RETRY_MS;
      this.#silentSince = undefined;
      if (told === undefined) return { pods: known };
      const pods = new Map([...known, ...knownPodsOf(told)]);
      this.#unsaved = pods;
      log.info({ pods: pods.size }, 'the kubelet told of pods that were not known yet');
      return { pods };
    } catch (error) {
      signal.throwIfAborted();
      const reason = describeError(error);
      log.debug({ reason }, 'the kubelet does not tell of its pods');
      this.#silentSince ??= clock.monotonic();
      if (clock.monotonic() - this.#silentSince < KUBELET_SILENT_MS) {
        return { pods: known, awaited: `the kubelet does not tell of pods that are new: ${reason}` };
      }
      this.#silentSince = undefined;
      this.#dueAt.kubelet = clock.monotonic() + RETRY_MS;
      return { pods: known };
    }
  }

  /** What was known the last time. */
  async #recorded(): Promise<PodKnowledge['pods']> {
    const { state, log } = this.#dependencies;
    const text = await state.read(FILE);
    if (text === undefined) return new Map();
    try {
      const { pods } = fileSchema.parse(JSON.parse(text));
      return new Map(pods.map(({ uid, ...pod }) => [uid, pod]));
    } catch (error) {
      log.warn({ file: FILE, reason: describeError(error) }, 'what was known of the pods cannot be read');
      return new Map();
    }
  }

  async #write(known: PodKnowledge['pods']): Promise<void> {
    const pods = [...known].map(([uid, pod]) => ({ uid, ...pod }));
    await this.#dependencies.state.write(FILE, `${JSON.stringify({ version: 1, pods })}\n`);
  }
}
