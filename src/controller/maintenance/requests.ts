import type { EvictionRequest } from '../../api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION, MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { decideLabels, drainMetadata, isCurrent } from '../../decide/eviction/metadata.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { whatUndoes } from '../../decide/eviction/requester.ts';
import { isReplaceable } from '../../decide/eviction/spent-request.ts';
import { decideLeaving, type Leaving } from '../../decide/node/leaving.ts';
import { drainBegan } from '../../decide/maintenance/recorded-node.ts';
import { isInPodGroup, isTerminal, podTypeOf } from '../../decide/pod.ts';
import { timeOf } from '../../decide/time.ts';
import { type Undone, undoneAgain, undoneRestMs } from '../../decide/eviction/back-off.ts';
import { shortenEnd } from '../../kube/eviction/evictor.ts';
import { deleteRequest } from '../../kube/eviction/requester-entry.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { EVICTION_REQUESTS, keyOf, objectPath } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import { requestKeyOf } from '../cache/pods.ts';
import type { ControllerContext } from '../context.ts';
import { deadlineAnnotations, graceOptions, hasDeadline } from '../deadline.ts';
import { cleanUpRequest } from './request-cleanup.ts';
import type { GroupedEvictions } from '../eviction/grouped-pods.ts';
import { type EvictionRoom, LIMITED_AGAIN_MS } from '../eviction/limits.ts';
import type { Refusals } from './refusals.ts';

/** For what no change tells: an end that a deadline shortens, a pod that lives on, a request deleted while the watch was away. */
const AGAIN_MS = 15_000;
/** In this time after a request was written its absence from our copy says nothing. */
const COPY_LATE_MS = 1_000;

/** The last write of a request. */
interface Applied {
  readonly uid: string | undefined;
  /** In milliseconds of the monotonic clock. */
  readonly at: number;
}

/** What is remembered of the request of a pod that a drain wants. */
interface RequestNote {
  /** Our last write of it; undefined where there is none, and where we have deleted the request since. */
  readonly applied: Applied | undefined;
  /** That somebody takes back what we write. */
  readonly undone: Undone | undefined;
}

/**
 * Gives a pod that is terminating less time where a deadline asks for it. Returns whether the pod needs no EvictionRequest:
 * it leaves already. A static pod does not, whatever becomes of its mirror pod.
 */
async function isLeaving(context: ControllerContext, pod: Pod, signal: AbortSignal): Promise<boolean> {
  // The grace period of a static pod is not the API server's to change: its agent ends it in time.
  if (podTypeOf(pod) === 'Static' || pod.metadata.deletionTimestamp === undefined) return false;
  const { client, clock, log } = context;
  const isShorter = await shortenEnd(client, pod, { options: graceOptions(context, pod), now: clock.now() }, signal);
  if (isShorter) log.info({ pod: keyOf(pod) }, 'shortened the end of a terminating pod for a deadline');
  return true;
}

/** What the drains of its node want of the pod, by our copies or by maintenances that were read; nothing of one that is gone. */
function leavingOf(context: ControllerContext, pod: Pod | undefined, read?: readonly NodeMaintenance[]): Leaving {
  const { pods, nodes, options, clock } = context;
  const node = nodes.get(pod?.spec.nodeName ?? '');
  if (pod === undefined || node === undefined || isTerminal(pod)) return { kind: 'untargeted' };
  const { name } = node.metadata;
  const maintenances = read ?? context.maintenances.on(name);
  const seen = { node, pods: () => pods.on(name), maintenances, maxWaitMs: options.maxVolumeTime };
  return decideLeaving(pod, seen, clock.now());
}

/** Whether it is one of a group that has not been told to end: an EvictionRequest of it would only be canceled. */
function isGrouped(pod: Pod): boolean {
  return podTypeOf(pod) === 'Default' && isInPodGroup(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** When to look at a request again, and why it stays as it is. */
interface Asked {
  readonly againMs?: number;
  readonly refused?: string;
}

/**
 * The requests of drains: each has this controller's requester entry while a drain wants the pod to leave, and not longer. A pod
 * that can have none is evicted.
 */
export class DrainRequests {
  readonly #context: ControllerContext;
  readonly #refused: Refusals;
  readonly #room: EvictionRoom;
  readonly #grouped: GroupedEvictions;
  readonly #begunAt: number;
  /** By the key of the request. */
  readonly #notes = new Map<string, RequestNote>();

  constructor(
    context: ControllerContext,
    parts: { readonly refused: Refusals; readonly room: EvictionRoom; readonly grouped: GroupedEvictions },
  ) {
    this.#context = context;
    this.#refused = parts.refused;
    this.#room = parts.room;
    this.#grouped = parts.grouped;
    this.#begunAt = context.clock.monotonic();
  }

  /** One step of one request, by its key. */
  readonly reconcile: Reconcile = async (key, signal) =>
    await this.#refused.during(key, signal, () => this.#step(key, signal));

  async #step(key: string, signal: AbortSignal): Promise<Asked> {
    const { pods, requests, clock } = this.#context;
    const pod = pods.ofRequest(key);
    const leaving = leavingOf(this.#context, pod);
    if (pod !== undefined && leaving.kind === 'asked' && this.#isClosed(pod)) {
      if (!this.#room.take(pod)) return { againMs: LIMITED_AGAIN_MS };
      if (!isGrouped(pod)) return await this.#askFor(pod, leaving.by, signal);
      if (!this.#grouped.hasTried(key) && (await this.#isOver(pod, leaving.by, signal)))
        return { againMs: COPY_LATE_MS };
      return await this.#grouped.evict(key, pod, signal);
    }
    this.#room.release(key);
    this.#grouped.forget(key);
    this.#notes.delete(key);
    const known = requests.get(key);
    if (known !== undefined) await cleanUpRequest(this.#context, known, this.#begunAt, signal);
    return leaving.kind === 'later' ? { againMs: leaving.at - clock.now() } : {};
  }

  /** Nothing new comes to a node that is cordoned; one that the API server does not let be cordoned is drained all the same. */
  #isClosed({ spec: { nodeName = '' } }: Pod): boolean {
    const node = this.#context.nodes.get(nodeName);
    return node?.spec?.unschedulable === true || this.#refused.of(nodeName) !== undefined;
  }

  async #askFor(pod: Pod, by: NodeMaintenance, signal: AbortSignal): Promise<Asked> {
    const now = this.#context.clock.monotonic();
    const key = requestKeyOf(pod);
    const known = this.#context.requests.get(key);
    const { applied, undone } = this.#notes.get(key) ?? {};
    const lateMs = (applied?.at ?? -Infinity) + COPY_LATE_MS - now;
    if (known === undefined && lateMs > 0) return { againMs: lateMs };
    const what = whatUndoes(known, applied);
    if (what !== undefined) {
      const restMs = undoneRestMs(undone, now);
      if (restMs > 0) return { againMs: restMs, refused: `${what}; to end the drain, complete the maintenance` };
      this.#notes.set(key, { applied, undone: undoneAgain(undone, now) });
    }
    const leaving = await isLeaving(this.#context, pod, signal);
    const isTimed = leaving ? hasDeadline(this.#context, pod) : known === undefined || isFinished(known);
    const again = isTimed ? { againMs: AGAIN_MS } : {};
    if (known === undefined && leaving) return again;
    if (known === undefined && (await this.#isOver(pod, by, signal))) return { againMs: COPY_LATE_MS };
    await this.#request(pod, by, signal);
    return again;
  }

  /**
   * Whether the pod has come since the drain began, and the drain is over by now: our copy may show that later than the pod. Its
   * place is given back then.
   */
  async #isOver(pod: Pod, drain: NodeMaintenance, signal: AbortSignal): Promise<boolean> {
    const began = drainBegan(drain, { name: pod.spec.nodeName ?? '' }) ?? Infinity;
    if ((timeOf(pod.metadata.creationTimestamp) ?? 0) <= began) return false;
    const all = await this.#context.readMaintenances(signal);
    const read = all.find(({ metadata }) => metadata.uid === drain.metadata.uid);
    if (read !== undefined && leavingOf(this.#context, pod, [read]).kind === 'asked') return false;
    this.#room.release(requestKeyOf(pod));
    return true;
  }

  /**
   * Makes or keeps the EvictionRequest of a pod, with this controller's requester entry (KEP-4212, "Drain"). A new one has the
   * labels of its pod from the first, which would cost another write.
   */
  async #request(pod: Pod, by: NodeMaintenance, signal: AbortSignal): Promise<void> {
    const { client, clock, log, requests } = this.#context;
    const key = requestKeyOf(pod);
    const known = requests.get(key);
    const undone = this.#notes.get(key)?.undone;
    if (known !== undefined && (isFinished(known) || known.metadata.deletionTimestamp !== undefined)) {
      // It is over although its pod lives on, or names another pod: the pod is to leave by a new one.
      if (!isReplaceable(known, pod, clock.now())) return;
      this.#notes.set(key, { undone, applied: undefined });
      await deleteRequest(client, known, signal);
      return;
    }
    const { namespace = 'default', name, uid = '' } = pod.metadata;
    const deadline = deadlineAnnotations(this.#context, pod, known);
    const { labels, annotations } = drainMetadata(pod, { known, by, deadline });
    // Where there are other labels, the apply takes those away that it set before and that the pod no longer has.
    if (known !== undefined && isCurrent(known, annotations) && !decideLabels(known, pod).hasOthers) return;
    const body: EvictionRequest = {
      apiVersion: EVICTION_REQUEST_API_VERSION,
      kind: 'EvictionRequest',
      metadata: { name: uid, namespace, labels, annotations },
      spec: { target: { pod: { name, uid } }, requesters: [{ name: MAINTENANCE_REQUESTER }] },
    };
    const path = objectPath(EVICTION_REQUESTS, body.metadata);
    const patch = { kind: 'apply', manager: MAINTENANCE_REQUESTER } as const;
    const change = { method: 'PATCH', path, body, patch } as const;
    const fresh = await sendForObject<EvictionRequest>(client, change, [404], signal);
    if (fresh !== undefined)
      this.#notes.set(key, { undone, applied: { uid: fresh.metadata.uid, at: clock.monotonic() } });
    log.info({ pod: keyOf(pod), node: pod.spec.nodeName, podType: podTypeOf(pod) }, 'requested eviction');
  }
}
