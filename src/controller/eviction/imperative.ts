import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { EvictionOutcome } from '../../decide/eviction/api-answer.ts';
import type { EvictionTarget } from '../../decide/eviction/imperative.ts';
import { createEvictionEngine, type EvictionEngine } from '../../kube/eviction/imperative.ts';
import type { InterceptorStep } from '../../kube/eviction/interceptor.ts';
import { type EvictionConcurrency, createEvictionConcurrency } from '../../kube/eviction/concurrency.ts';
import { keyOf } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { graceOptions } from '../deadline.ts';
import { LAST_REPLICA_MS, neededOn } from './last-replica.ts';
import { actsWhileInactive, isRequestObsolete } from '../spent-requests.ts';
import { subjectOf } from './reconciler.ts';

/** A drain whose targets our copy does not show yet is seen within this time. */
const UNWANTED_AGAIN_MS = 1_000;

/** So often it is looked whether other nodes still need the last replica. */
const STAYS_AGAIN_MS = 1_000;

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

/** The step of the last replica of the controller while other nodes still need it; undefined for any other pod. */
function stayForOthers(
  context: ControllerContext,
  stays: Map<string, number>,
  { request, pod }: EvictionTarget,
): InterceptorStep | undefined {
  const node = neededOn(context, pod);
  if (node === undefined) return undefined;
  const now = context.clock.monotonic();
  const key = keyOf(request);
  const since = stays.get(key) ?? now;
  stays.set(key, since);
  const leftMs = since + LAST_REPLICA_MS - now;
  if (leftMs <= 0) return undefined;
  const message = `The last replica of the nodemaint controller stays for pods of node ${node}.`;
  return { kind: 'working', message, expectedFinishAt: context.clock.now() + leftMs, againMs: STAYS_AGAIN_MS };
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
  /** Since when the last replica of the controller stays for others, on the monotonic clock, by the key of the request. */
  const stays = new Map<string, number>();
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
    instead: (target, of) => {
      if (of === 'attempt') return stayForOthers(context, stays, target);
      // A drain may have ended while no controller ran.
      return isRequestObsolete(context, target) ? { kind: 'silent', againMs: UNWANTED_AGAIN_MS } : undefined;
    },
  });
  return {
    ...engine,
    actsWhileInactive: (request, pod) => actsWhileInactive(context, 'Default', { request, pod }),
    over: async (request, signal) => {
      stays.delete(keyOf(request));
      await engine.over?.(request, signal);
    },
  };
}
