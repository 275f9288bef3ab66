import type { PodStep } from '../../../decide/node/plan.ts';
import type { NodeDrain } from '../../../decide/maintenance/maintenance.ts';
import type { Waiting } from '../../../decide/node/waits.ts';
import type { Clock } from '../../../host/clock.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { shortenEnd } from '../../../kube/eviction/evictor.ts';
import type { SelfRemovals } from './daemon-sets.ts';
import type { SelfEvictions } from './evictions.ts';
import { createPendingSteps } from './pending-steps.ts';

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
