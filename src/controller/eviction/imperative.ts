import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { EvictionOutcome } from '../../decide/eviction/api-answer.ts';
import { createEvictionEngine, type EvictionEngine } from '../../kube/eviction/imperative.ts';
import { type EvictionConcurrency, createEvictionConcurrency } from '../../kube/eviction/concurrency.ts';
import type { ControllerContext } from '../context.ts';
import { graceOptions } from '../deadline.ts';
import { actsWhileInactive, isRequestObsolete } from '../spent-requests.ts';
import { subjectOf } from './reconciler.ts';

/** A drain whose targets our copy does not show yet is seen within this time. */
const UNWANTED_AGAIN_MS = 1_000;

/** Counts an attempt; one that is blocked becomes an Event too. */
function record(context: ControllerContext, request: EvictionRequest, outcome: EvictionOutcome): void {
  const { metrics, events } = context;
  metrics.attempts.inc({ outcome: outcome.kind });
  const { name } = request.spec.target.pod;
  if (outcome.kind !== 'blocked') return;
  // Without the count and the numbers, so that it is one event that counts up.
  const which = outcome.budgets.length === 0 ? '' : ` by PodDisruptionBudget ${outcome.budgets.join(', ')}`;
  const message = `The eviction of pod ${name} is blocked${which}.`;
  events.record(subjectOf(request), { type: 'Warning', reason: 'EvictionBlocked', message });
}

/**
 * Creates the interceptor `imperative-eviction.k8s.io` (KEP-4563, "Eviction"): the Eviction API as the last resort. `underWay`
 * counts the calls together with those of others who have it too.
 */
export function createImperativeEviction(
  context: ControllerContext,
  underWay: EvictionConcurrency = createEvictionConcurrency(context.clock),
): EvictionEngine {
  const { client, clock, log, requests, pods, budgets, options } = context;
  const engine = createEvictionEngine({
    client,
    clock,
    log,
    pods,
    budgets,
    underWay,
    request: (key) => requests.get(key),
    patience: { takeOverMs: options.takeOverTimeout, promiseMs: options.promiseTimeout },
    promiseWords: options.promiseWords,
    endOptions: (pod) => graceOptions(context, pod),
    onAttempt: (request, outcome) => {
      record(context, request, outcome);
    },
    // A drain may have ended while no controller ran.
    instead: (target) => {
      return isRequestObsolete(context, target) ? { kind: 'silent', againMs: UNWANTED_AGAIN_MS } : undefined;
    },
  });
  return { ...engine, actsWhileInactive: (request, pod) => actsWhileInactive(context, 'Default', { request, pod }) };
}
