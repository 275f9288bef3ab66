/**
 * Evicts pods of PodGroups for drains. EvictionRequests do not support them (KEP-4563), so each has a request in memory only,
 * and leaves by the same engine as every other pod.
 */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { attemptsOf } from '../../decide/eviction/api-answer.ts';
import { HEARTBEAT_EVERY_MS } from '../../decide/eviction/heartbeat.ts';
import { isMarked, isTakenOver, rememberedAttempts } from '../../decide/eviction/imperative.ts';
import { drainPodOf, isTerminal } from '../../decide/pod.ts';
import { groupNameOf } from '../../decide/pod-group/pod-group.ts';
import { momentOf } from '../../host/clock.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { keyOf } from '../../kube/resource.ts';
import { podByUid } from '../cache/pods.ts';
import type { ControllerContext } from '../context.ts';
import { createImperativeEviction } from '../eviction/imperative.ts';
import { writeMark } from '../../kube/eviction/evict-mark.ts';
import type { EvictionEngine } from '../../kube/eviction/imperative.ts';
import type { EvictionConcurrency } from '../../kube/eviction/concurrency.ts';
import { requestKeyOf } from '../maintenance/wanted-evictions.ts';
import { createGroupGate, type GroupGate } from './gate.ts';
import { createGroupModes, type GroupModes } from './modes.ts';
import { type GroupEviction, requestOfEviction } from './requests.ts';

/** What has become of the eviction of a pod. */
export interface GroupStep {
  readonly againMs?: number;
  /** Why it is still there, as a sentence; absent while nothing blocks it. */
  readonly refused?: string;
}

/** The evictions of pods of groups. Their keys are those that an EvictionRequest of the pod would have, NAMESPACE/UID. */
export interface GroupEvictions {
  /** Takes the next step for one pod that a drain targets. Throws API_UNREACHABLE and API_REFUSED. */
  evict(pod: Pod, signal: AbortSignal): Promise<GroupStep>;
  /** The next step for a pod that no drain targets: it goes on to leave with its group, or its eviction is over. */
  release(key: string, signal: AbortSignal): Promise<GroupStep>;
  /** The eviction as a request that is only in memory; undefined where nothing is known of it. */
  get(key: string): EvictionRequest | undefined;
  /** All of them, as `get` has them. */
  list(): readonly EvictionRequest[];
  /** The keys of the evictions of the pod, NAMESPACE/NAME. */
  ofPod(pod: string): readonly string[];
  /** The keys that are worth another step after this PodDisruptionBudget, NAMESPACE/NAME, has changed. */
  budgetChanged(budget: string): readonly string[];
  /** The keys of those whose eviction is promised (KEP-1397). */
  promised(): readonly string[];
}

/** Events of the engine about its request are about the pod. */
function aboutPods(events: EventRecorder, podOf: (key: string) => Pod | undefined): EventRecorder {
  return {
    ...events,
    record: (subject, text) => {
      const pod = subject.kind === 'EvictionRequest' ? podOf(keyOf(subject)) : undefined;
      events.record(pod === undefined ? subject : { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata }, text);
    },
  };
}

class Groups implements GroupEvictions {
  readonly #context: ControllerContext;
  readonly #add: (key: string) => void;
  readonly #evictions = new Map<string, GroupEviction>();
  readonly #engine: EvictionEngine;
  readonly #gate: GroupGate;
  readonly #modes: GroupModes;

  constructor(context: ControllerContext, underWay: EvictionConcurrency, add: (key: string) => void) {
    this.#context = context;
    this.#add = add;
    const get = (key: string): EvictionRequest | undefined => this.#requestOf(key);
    const own = {
      ...context,
      requests: { ...context.requests, get, isFirstOfNode: () => false },
      events: aboutPods(context.events, (key) => this.#evictions.get(key)?.pod),
    };
    this.#engine = createImperativeEviction(own, { remember: rememberedAttempts, quietMs: () => 0 }, underWay);
    this.#gate = createGroupGate(context, this.#engine);
    this.#modes = createGroupModes(context);
  }

  async evict(pod: Pod, signal: AbortSignal): Promise<GroupStep> {
    const eviction = this.#begin(pod, 'drain');
    const { group } = eviction;
    const mode = groupNameOf(pod) === undefined ? 'single' : await this.#modes.of(group, signal);
    const members = mode === 'single' ? [] : this.#membersOf(group);
    if (members.length > 1) {
      const step = await this.#gate.pass(group, members, signal);
      if (step.kind === 'closed') {
        const { againMs, refused } = step;
        return { againMs, ...(refused === undefined ? {} : { refused }) };
      }
      for (const member of members) this.#joinLeaving(member);
    }
    return await this.#act(eviction, pod, signal);
  }

  async release(key: string, signal: AbortSignal): Promise<GroupStep> {
    const eviction = this.#evictions.get(key);
    if (eviction === undefined) return {};
    const pod = this.#currentPod(eviction);
    if (pod === undefined) {
      await this.#end(key, eviction, 'evicted', signal);
      return {};
    }
    // It is counted when it has ended.
    if (pod.metadata.deletionTimestamp !== undefined) return {};
    if (eviction.by === 'group') return await this.#act(eviction, pod, signal);
    if (isMarked(pod) && isTakenOver(pod)) await writeMark(this.#context, pod, 'remove', signal);
    await this.#end(key, eviction, 'canceled', signal);
    if (this.#ofGroup(eviction.group).some(([, { by }]) => by === 'drain')) return {};
    // Nobody wants the group to leave any more: the next drain begins anew.
    this.#gate.forget(eviction.group);
    for (const [other, left] of this.#ofGroup(eviction.group)) {
      left.by = 'drain';
      this.#add(other);
    }
    return {};
  }

  get(key: string): EvictionRequest | undefined {
    return this.#requestOf(key);
  }

  list(): readonly EvictionRequest[] {
    return [...this.#evictions.keys()].flatMap((key) => this.#requestOf(key) ?? []);
  }

  ofPod(pod: string): readonly string[] {
    return [...this.#evictions].flatMap(([key, eviction]) => (keyOf(eviction.pod) === pod ? [key] : []));
  }

  budgetChanged(budget: string): readonly string[] {
    const groups = this.#gate.budgetChanged(budget);
    const kept = groups.flatMap((group) => this.#ofGroup(group).map(([key]) => key));
    return [...new Set([...kept, ...this.#engine.budgetChanged(budget)])];
  }

  promised(): readonly string[] {
    return this.#engine.promised();
  }

  #begin(pod: Pod, by: GroupEviction['by']): GroupEviction {
    const key = requestKeyOf(drainPodOf(pod));
    const known = this.#evictions.get(key);
    if (known !== undefined && by === 'drain') known.by = by;
    if (known !== undefined) return known;
    const { clock, metrics } = this.#context;
    const group = `${pod.metadata.namespace}/${groupNameOf(pod) ?? pod.metadata.name}`;
    const eviction: GroupEviction = { pod, group, begun: momentOf(clock), by, message: '' };
    this.#evictions.set(key, eviction);
    metrics.evictionBegun();
    return eviction;
  }

  /** Lets a pod leave with its group that no drain asks for yet. */
  #joinLeaving(pod: Pod): void {
    const key = requestKeyOf(drainPodOf(pod));
    if (this.#evictions.has(key)) return;
    this.#begin(pod, 'group');
    this.#add(key);
  }

  async #act(eviction: GroupEviction, pod: Pod, signal: AbortSignal): Promise<GroupStep> {
    const request = this.#requestOf(requestKeyOf(drainPodOf(pod)));
    if (request === undefined) return {};
    const step = await this.#engine.act(request, pod, signal);
    if (step.kind !== 'silent') eviction.message = step.message;
    eviction.heard = momentOf(this.#context.clock);
    const { againMs = Infinity } = step.kind === 'completed' ? {} : step;
    return {
      againMs: Math.min(againMs, HEARTBEAT_EVERY_MS),
      ...(attemptsOf(eviction.message) === 0 ? {} : { refused: eviction.message }),
    };
  }

  async #end(
    key: string,
    eviction: GroupEviction,
    outcome: 'evicted' | 'canceled',
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, metrics } = this.#context;
    const request = this.#requestOf(key);
    if (request !== undefined) await this.#engine.over?.(request, signal);
    this.#evictions.delete(key);
    if (this.#ofGroup(eviction.group).length === 0) {
      this.#gate.forget(eviction.group);
      this.#modes.forget(eviction.group);
    }
    metrics.evictionEnded(outcome, Math.max(0, (clock.monotonic() - eviction.begun.monotonic) / 1000));
  }

  #requestOf(key: string): EvictionRequest | undefined {
    const eviction = this.#evictions.get(key);
    return eviction === undefined ? undefined : requestOfEviction(this.#context, eviction);
  }

  #ofGroup(group: string): readonly (readonly [string, GroupEviction])[] {
    return [...this.#evictions].filter(([, eviction]) => eviction.group === group);
  }

  /** The pods of the group that have not been told to end. */
  #membersOf(group: string): readonly Pod[] {
    return this.#context.pods.inGroup(group).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  #currentPod({ pod }: GroupEviction): Pod | undefined {
    const found = podByUid(this.#context.pods, drainPodOf(pod));
    return found === undefined || isTerminal(found) ? undefined : found;
  }
}

/**
 * Evictions of pods of groups that share the bound of `underWay` with all others; `add` is called with the key of a pod that
 * leaves because its group does.
 */
export function createGroupEvictions(
  context: ControllerContext,
  underWay: EvictionConcurrency,
  add: (key: string) => void,
): GroupEvictions {
  return new Groups(context, underWay, add);
}
