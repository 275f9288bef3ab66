import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';
import type { SelfEvictions } from './evictions.ts';
import type { Pod } from '../../../api/pod.ts';
import { drainOf } from '../../../decide/daemon-set/gate.ts';
import type { NodeDrain } from '../../../decide/maintenance/maintenance.ts';
import type { PodStep } from '../../../decide/node/plan.ts';
import { API_SERVER, type Waiting } from '../../../decide/node/waits.ts';
import { NodemaintError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { deletePod, type EndOptions, shortenEnd } from '../../../kube/eviction/evictor.ts';
import { createUngatedDaemonSets } from '../../../kube/eviction/ungated-daemon-sets.ts';
import { keyOf } from '../../../kube/resource.ts';

/** What is to be removed, and with what leave. */
interface RemovalScope {
  /** The drains as the status of the maintenances records them. */
  readonly recorded: readonly NodeDrain[];
  readonly options: EndOptions;
  /** Asked right before the deletion. */
  readonly mayAct: () => Promise<boolean>;
}

/** The removals of this node's DaemonSet pods while its agent carries them out. */
interface SelfRemovals {
  /**
   * Deletes a DaemonSet pod that the recorded targets select, after an ever longer time where its DaemonSet brings it back.
   * Throws API_UNREACHABLE and API_REFUSED.
   */
  remove(pod: Pod, scope: RemovalScope, signal: AbortSignal): Promise<Waiting>;
  forget(): void;
}

export function createSelfRemovals({ client, clock, log }: ClusterDependencies): SelfRemovals {
  const ungated = createUngatedDaemonSets(clock);
  return {
    remove: async (pod, { recorded, options, mayAct }, signal) => {
      const wait = (message: string): Waiting => ({
        wait: 'returning',
        what: keyOf(pod),
        on: 'nodemaint agent',
        message,
      });
      if (drainOf(pod, recorded) === undefined) return wait('its drain targets are not in the status yet');
      const now = clock.now();
      const { inMs, returns } = ungated.due(pod);
      if (inMs > 0) return { ...wait(`has come back ${returns} times, is deleted again`), expectedAt: now + inMs };
      if (await mayAct()) {
        await deletePod(client, pod, options, signal);
        ungated.removed(pod);
        log.info({ pod: keyOf(pod), returns }, 'deleted DaemonSet pod of own node');
      }
      return wait('is being deleted');
    },
    forget: () => {
      ungated.forget(() => false);
    },
  };
}

/** How long a pass waits for a step; the step itself goes on, because a webhook may need longer and say yes in the end. */
const STEP_MS = 2_000;
/** The same while others are under way: their webhooks may be those of this pod. */
const NEXT_STEP_MS = 200;

/** Steps that may take longer than a pass, one for each pod at a time. */
interface PendingSteps {
  /** Takes the step unless one is under way, and waits for it for some time. Throws API_UNREACHABLE. */
  take(
    pod: Pod,
    step: (signal: AbortSignal) => Promise<Waiting | undefined>,
    signal: AbortSignal,
  ): Promise<Waiting | undefined>;
  /** Ends those under way. */
  end(): void;
}

/** The steps end with `lifetime`. */
function createPendingSteps(lifetime: AbortSignal): PendingSteps {
  const underWay = new Set<string>();
  let ending = new AbortController();
  return {
    take: async (pod, step, signal) => {
      const { uid = '' } = pod.metadata;
      const wait = (message: string): Waiting => ({ wait: 'api-server', what: keyOf(pod), on: API_SERVER, message });
      const late = wait('has no answer of the API server yet: a webhook may hold it up');
      if (underWay.has(uid)) return late;
      const waitMs = underWay.size === 0 ? STEP_MS : NEXT_STEP_MS;
      underWay.add(uid);
      const taken = step(AbortSignal.any([lifetime, ending.signal]))
        .catch((error: unknown) => {
          if (error instanceof NodemaintError && error.code === 'API_REFUSED') return wait(error.message);
          throw error;
        })
        .finally(() => underWay.delete(uid));
      const done = new AbortController();
      const timer = delay(waitMs, late, { signal: AbortSignal.any([signal, done.signal]) });
      try {
        return await Promise.race([taken, timer]);
      } finally {
        done.abort();
      }
    },
    end: () => {
      ending.abort();
      ending = new AbortController();
    },
  };
}

/** What the steps are taken with. */
interface PodPass {
  /** The drains as the status of the maintenances records them. */
  readonly recorded: readonly NodeDrain[];
  /** Why budgets are not asked for the pods of this node, as a sentence; undefined where they are. */
  readonly whyNotAsked: () => string | undefined;
  /** Asked right before each step that takes a pod away. */
  readonly mayAct: () => Promise<boolean>;
}

/** Carries out what is decided about the pods of the node: evictions, and the deletion of DaemonSet pods. */
interface PodRemoval {
  /**
   * Takes the steps: what is refused for one pod, or held up by a webhook, does not keep the others. Returns what is waited for.
   * Throws API_UNREACHABLE.
   */
  take(steps: readonly PodStep[], pass: PodPass, signal: AbortSignal): Promise<readonly Waiting[]>;
  /** Ends the steps under way. */
  forget(): void;
}

interface PodRemovalDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly evictions: Pick<SelfEvictions, 'evict'>;
  readonly removals: Pick<SelfRemovals, 'remove'>;
}

/** The steps end with `lifetime`. */
export function createPodRemoval(
  { client, clock, evictions, removals }: PodRemovalDependencies,
  lifetime: AbortSignal,
): PodRemoval {
  const pending = createPendingSteps(lifetime);
  const take = async (step: PodStep, pass: PodPass, signal: AbortSignal): Promise<Waiting> => {
    const { pod } = step;
    if (step.kind === 'wait') return step.waiting;
    const { options } = step;
    if (step.kind === 'delete') return await removals.remove(pod, { ...pass, options }, signal);
    if (step.kind === 'evict') {
      const { request, trustUntil, notAsked } = step;
      const whyNotAsked = notAsked === undefined ? pass.whyNotAsked : () => notAsked;
      return await evictions.evict(pod, { ...pass, request, options, trustUntil, whyNotAsked }, signal);
    }
    await shortenEnd(client, pod, { options, now: clock.now() }, signal);
    return step.waiting;
  };
  return {
    take: async (steps, pass, signal) => {
      const waiting: Waiting[] = [];
      for (const step of steps) {
        const waits = await pending.take(step.pod, (stepSignal) => take(step, pass, stepSignal), signal);
        if (waits !== undefined) waiting.push(waits);
      }
      return waiting;
    },
    forget: () => {
      pending.end();
    },
  };
}
