/** The subresource pods/eviction: a pod goes when its PodDisruptionBudget has room for that. */
import type { LabelSelector } from '../../../src/api/meta.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { isReady } from '../../../src/decide/pod.ts';
import { labelSelectorMatches } from '../../../src/decide/selector.ts';
import { keyOf } from '../../../src/kube/resource.ts';
import type { KubeObject } from '../../../src/api/meta.ts';
import { type Answer, refused } from './answer.ts';
import type { Objects } from './objects.ts';

/** A PodDisruptionBudget, as far as an eviction looks at it. */
export interface Budget extends KubeObject {
  readonly spec: {
    readonly selector: LabelSelector;
    readonly unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow';
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
    readonly disruptedPods?: Readonly<Record<string, string>>;
  };
}

const RETRY_SECONDS = '10';

/** The budgets that select a pod. */
export function budgetsOf(objects: Objects, { metadata }: Pod): readonly Budget[] {
  return (objects.list('PodDisruptionBudget') as readonly Budget[]).filter(
    (budget) =>
      budget.metadata.namespace === metadata.namespace &&
      labelSelectorMatches(budget.spec.selector, metadata.labels ?? {}),
  );
}

/** Whether no budget is asked for the pod: it serves nobody, or is going already. */
function isFree({ metadata, status }: Pod): boolean {
  const { phase = 'Pending' } = status ?? {};
  return metadata.deletionTimestamp !== undefined || phase !== 'Running';
}

/** Whether a pod that is not ready may go without a place in the budget. */
function mayGoUnready(pod: Pod, { spec, status }: Budget): boolean {
  if (isReady(pod)) return false;
  if (spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

function tooMany(message: string, cause: string, budget: Budget): Answer {
  const details = {
    causes: [{ reason: 'DisruptionBudget', message: `The disruption budget ${budget.metadata.name} ${cause}` }],
  };
  return { ...refused(429, 'TooManyRequests', message, details), headers: { 'retry-after': RETRY_SECONDS } };
}

/** Takes a place in the budget of a pod; the refusal where there is none. `now` is RFC 3339. */
export function takePlace(objects: Objects, pod: Pod, dryRun: boolean, now: string): Answer | undefined {
  if (isFree(pod)) return undefined;
  const [budget, second] = budgetsOf(objects, pod);
  if (budget === undefined) return undefined;
  if (second !== undefined) {
    const why = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
    return refused(500, 'InternalError', why);
  }
  if (mayGoUnready(pod, budget)) return undefined;
  const { status = {}, metadata } = budget;
  const what = "Cannot evict pod as it would violate the pod's disruption budget.";
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return tooMany(what, 'is still being processed by the server.', budget);
  }
  const { disruptionsAllowed = 0, currentHealthy = 0, desiredHealthy = 0, disruptedPods = {} } = status;
  if (disruptionsAllowed <= 0) {
    return tooMany(what, `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`, budget);
  }
  if (dryRun) return undefined;
  const taken = {
    ...status,
    disruptionsAllowed: disruptionsAllowed - 1,
    disruptedPods: { ...disruptedPods, [pod.metadata.name]: now },
  };
  const stored = objects.get('PodDisruptionBudget', keyOf(budget));
  if (stored !== undefined) {
    objects.put('PodDisruptionBudget', { ...budget, status: taken } as KubeObject, stored.owners);
  }
  return undefined;
}
