import { setTimeout as delay } from 'node:timers/promises';
import type { EvictionRequest } from '../../../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../../api/names.ts';
import type { Pod } from '../../../api/pod.ts';
import { isApiFailure } from '../../../decide/eviction/api-answer.ts';
import { AGENT_BUDGET_RETRY_MS } from '../../../decide/eviction/back-off.ts';
import {
  afterAttempt,
  decideEvictionStep,
  isMarked,
  rememberedAttempts,
  withoutPauseIfNotAsked,
  withoutPauseIfUnready,
} from '../../../decide/eviction/imperative.ts';
import { ownRequest } from '../../../decide/eviction/own-request.ts';
import type { EvictionSettings } from '../../../decide/eviction/settings.ts';
import { covers, type NodeDrain } from '../../../decide/maintenance/maintenance.ts';
import type { PodStep } from '../../../decide/node/plan.ts';
import { API_SERVER, type Wait, type Waiting, waitOfOutcome } from '../../../decide/node/waits.ts';
import { drainPodOf } from '../../../decide/pod.ts';
import { rfc3339 } from '../../../decide/time.ts';
import { NodemaintError } from '../../../errors.ts';
import { asOfNow, type Moment, momentOf } from '../../../host/clock.ts';
import { EvictionAttempts } from '../../../kube/eviction/attempt-memory.ts';
import { attemptToEvict } from '../../../kube/eviction/attempt.ts';
import { deletePod, shortenEnd } from '../../../kube/eviction/evictor.ts';
import { UngatedDaemonSets } from '../../../kube/eviction/ungated-daemon-sets.ts';
import { keyOf } from '../../../kube/resource.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';

/** What the steps of a pass are taken with. */
interface StepScope {
  /** The drains as the status of the maintenances records them. */
  readonly recorded: readonly NodeDrain[];
  /** Why budgets are not asked for the pods of this node, as a sentence; undefined where they are. */
  readonly whyNotAsked: string | undefined;
  /** Asked right before each step that takes a pod away. */
  readonly mayAct: () => Promise<boolean>;
}

/** What a controller would have written into the interceptor's entry of a request. */
interface OwnEntry {
  readonly message: string;
  /** Who is to act. */
  readonly on: string;
  readonly wait: Wait;
  /** The first attempt. */
  readonly begun: Moment;
}

/** What is said of a pod whose mark only a controller could set. */
const UNMARKED = 'is to be left to its controller (ControllerTakeOver), but no nodemaint controller is alive';
/** How long a pass waits for a step; the step itself goes on, because a webhook may need longer and say yes in the end. */
const STEP_MS = 2_000;
/** The same while others are under way: their webhooks may be those of this pod. */
const NEXT_STEP_MS = 200;

/**
 * What is decided about the pods of this node, carried out by its agent: evictions, and the deletion of DaemonSet pods. What its
 * attempts came to is remembered until `forget`, by the UID of the pod.
 */
export class PodSteps {
  readonly #dependencies: ClusterDependencies;
  readonly #settings: () => EvictionSettings;
  readonly #lifetime: AbortSignal;
  readonly #ungated;
  readonly #memories;
  readonly #entries = new Map<string, OwnEntry>();
  readonly #underWay = new Set<string>();
  #ending = new AbortController();

  /** `settings` are those of the controller. The steps end with `lifetime`. */
  constructor(dependencies: ClusterDependencies, settings: () => EvictionSettings, lifetime: AbortSignal) {
    this.#dependencies = dependencies;
    this.#settings = settings;
    this.#lifetime = lifetime;
    this.#ungated = new UngatedDaemonSets(dependencies.clock);
    this.#memories = new EvictionAttempts(dependencies.clock);
  }

  /**
   * Takes the steps: what is refused for one pod, or held up by a webhook, does not keep the others. Returns what is waited for.
   * Throws API_UNREACHABLE.
   */
  async take(steps: readonly PodStep[], scope: StepScope, signal: AbortSignal): Promise<readonly Waiting[]> {
    const waiting: Waiting[] = [];
    for (const step of steps) waiting.push(await this.#begin(step, scope, signal));
    return waiting;
  }

  /** What the evictions have come to, by the UIDs of the pods, as the requests of a controller would say it. */
  attempts(pods: readonly Pod[]): ReadonlyMap<string, EvictionRequest> {
    return new Map(
      pods.flatMap((pod) => {
        const own = this.#ownRequestOf(pod);
        return own === undefined ? [] : [[pod.metadata.uid ?? '', own] as const];
      }),
    );
  }

  /** Ends the steps under way, and forgets all attempts. */
  forget(): void {
    this.#ending.abort();
    this.#ending = new AbortController();
    this.#memories.clear();
    this.#entries.clear();
    this.#ungated.forget(() => false);
  }

  /** Begins the step unless an earlier one for the pod is under way, and waits for it for some time. */
  async #begin(step: PodStep, scope: StepScope, signal: AbortSignal): Promise<Waiting> {
    const { uid = '' } = step.pod.metadata;
    const wait = (message: string): Waiting => ({ wait: 'api-server', what: keyOf(step.pod), on: API_SERVER, message });
    const late = wait('has no answer of the API server yet: a webhook may hold it up');
    if (this.#underWay.has(uid)) return late;
    const waitMs = this.#underWay.size === 0 ? STEP_MS : NEXT_STEP_MS;
    this.#underWay.add(uid);
    const taken = this.#take(step, scope, AbortSignal.any([this.#lifetime, this.#ending.signal]))
      .catch((error: unknown) => {
        if (error instanceof NodemaintError && error.code === 'API_REFUSED') return wait(error.message);
        throw error;
      })
      .finally(() => this.#underWay.delete(uid));
    const done = new AbortController();
    const timer = delay(waitMs, late, { signal: AbortSignal.any([signal, done.signal]) });
    try {
      return await Promise.race([taken, timer]);
    } finally {
      done.abort();
    }
  }

  async #take(step: PodStep, scope: StepScope, signal: AbortSignal): Promise<Waiting> {
    const { client, clock } = this.#dependencies;
    switch (step.kind) {
      case 'wait':
        return step.waiting;
      case 'delete':
        return await this.#delete(step, scope, signal);
      case 'evict':
        return await this.#evict(step, scope, signal);
      case 'shorten':
        await shortenEnd(client, step.pod, { options: step.options, now: clock.now() }, signal);
        return step.waiting;
    }
  }

  /** Deletes a DaemonSet pod that the recorded targets select, after an ever longer time where its DaemonSet brings it back. */
  async #delete(
    { pod, options }: Extract<PodStep, { kind: 'delete' }>,
    { recorded, mayAct }: StepScope,
    signal: AbortSignal,
  ): Promise<Waiting> {
    const { client, clock, log } = this.#dependencies;
    const wait = { wait: 'returning', what: keyOf(pod), on: 'nodemaint agent' } as const;
    if (!covers(recorded, drainPodOf(pod))) return { ...wait, message: 'its drain targets are not in the status yet' };
    const { inMs, returns } = this.#ungated.due(pod);
    const message = `has come back ${returns} times, is deleted again`;
    if (inMs > 0) return { ...wait, message, expectedAt: clock.now() + inMs };
    if (await mayAct()) {
      await deletePod(client, pod, options, signal);
      this.#ungated.removed(pod);
      log.info({ pod: keyOf(pod), returns }, 'deleted DaemonSet pod of own node');
    }
    return { ...wait, message: 'is being deleted' };
  }

  /** Takes the next step of a pod's eviction. */
  async #evict(
    { pod, request, options, trustUntil, notAsked }: Extract<PodStep, { kind: 'evict' }>,
    scope: StepScope,
    signal: AbortSignal,
  ): Promise<Waiting> {
    const { client, clock, log } = this.#dependencies;
    const { uid = '' } = pod.metadata;
    const now = clock.now();
    const settings = this.#settings();
    const why = notAsked ?? scope.whyNotAsked;
    const begun = this.#entries.get(uid)?.begun ?? momentOf(clock);
    const since = asOfNow(begun, momentOf(clock));
    const wait = (message: string, expectedAt?: number): Waiting => {
      const { on = IMPERATIVE_INTERCEPTOR, wait: known = 'api-server' } = this.#entries.get(uid) ?? {};
      const kind = isMarked(pod) ? 'take-over' : known;
      return { wait: kind, what: keyOf(pod), on, message, since, ...(expectedAt === undefined ? {} : { expectedAt }) };
    };
    const own = this.#ownRequestOf(pod) ?? request ?? ownRequest(pod, { startedAt: now, message: '' });
    // Since when a controller that is dead had marked the pod is not known: its own controller has the whole time.
    const first = isMarked(pod) ? { ...rememberedAttempts(own), markedAt: now } : rememberedAttempts(own);
    const known = withoutPauseIfNotAsked(this.#memories.get(uid) ?? first, why !== undefined);
    const memory = withoutPauseIfUnready(known, pod);
    this.#memories.set(uid, memory);
    const step = decideEvictionStep({ request: own, pod }, memory, { ...settings, trustUntil }, now);
    if (step.kind === 'mark') {
      // The mark is the controller's to write; the time of the pod's own controller begins all the same.
      this.#memories.set(uid, { ...memory, markedAt: memory.markedAt ?? now });
      const until = step.progress.expectedFinishAt ?? now;
      return wait(`${UNMARKED}; it is evicted at ${rfc3339(until)}`, until);
    }
    if (step.kind === 'wait') return wait(step.progress.message, step.progress.expectedFinishAt);
    if (!(await scope.mayAct())) return wait('is left to the nodemaint controller, which is alive again');
    const { promiseWords } = settings;
    const asked = { memory, options, promiseWords, budgets: [], budgetRetryMs: AGENT_BUDGET_RETRY_MS };
    const given = { ...asked, notAsked: why === undefined ? undefined : { why, now } };
    const outcome = await attemptToEvict(client, pod, given, signal);
    log.info({ pod: keyOf(pod), ...outcome }, 'asked for an eviction on own node');
    const after = afterAttempt(pod, memory, outcome, now);
    const message = after.progress?.message ?? '';
    this.#memories.set(uid, after.memory);
    const on = isApiFailure(outcome) ? API_SERVER : IMPERATIVE_INTERCEPTOR;
    this.#entries.set(uid, { message, begun, on, wait: waitOfOutcome(outcome) });
    return wait(message, after.progress?.expectedFinishAt);
  }

  /** The request of a pod whose eviction this agent has asked for. */
  #ownRequestOf(pod: Pod): EvictionRequest | undefined {
    const entry = this.#entries.get(pod.metadata.uid ?? '');
    if (entry === undefined) return undefined;
    const startedAt = asOfNow(entry.begun, momentOf(this.#dependencies.clock));
    return ownRequest(pod, { startedAt, message: entry.message });
  }
}
