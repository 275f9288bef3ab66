import type { EvictionRequest } from '../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../api/names.ts';
import type { Pod } from '../api/pod.ts';
import { isFinished } from '../decide/eviction-request.ts';
import { decideHeartbeat, HEARTBEAT_EVERY_MS, type Progress } from '../decide/heartbeat.ts';
import { decideEvictionOutcome, type EvictionOutcome } from '../decide/imperative-eviction.ts';
import { graceSecOf, podTypeOf } from '../decide/pod.ts';
import { applyInterceptorStatus } from '../kube/interceptor-status.ts';
import type { Reconcile } from '../kube/queue.ts';
import { objectPath, PODS, statusMessage } from '../kube/resource.ts';
import type { ControllerContext } from './context.ts';

/** An accepted eviction is not asked for again until our copy of the pod has had time to show it. */
const ACCEPTED_PAUSE_MS = 30_000;

/** Calls pods/eviction with the UID as precondition, so that a namesake is never evicted. */
async function evict(
  context: ControllerContext,
  pod: Pod,
  attempt: number,
  signal: AbortSignal,
): Promise<EvictionOutcome> {
  const { name, namespace, uid } = pod.metadata;
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace },
    deleteOptions: { preconditions: { uid } },
  };
  const response = await context.client.send(
    { method: 'POST', path: objectPath(PODS, pod.metadata, 'eviction'), body },
    signal,
  );
  const retryAfter = Number(response.headers['retry-after']);
  return decideEvictionOutcome(
    {
      status: response.status,
      message: statusMessage(response),
      ...(Number.isFinite(retryAfter) ? { retryAfterMs: retryAfter * 1000 } : {}),
    },
    attempt,
  );
}

/** The interceptor `imperative-eviction.k8s.io` (KEP-4563, "Eviction"): the Eviction API as the last resort. */
export function createImperativeEvictionReconciler(context: ControllerContext): Reconcile {
  // Own status writes come back as events: the time of the next try keeps them from being tries of their own.
  const attempts = new Map<string, { readonly count: number; readonly nextAt: number }>();

  const report = async (request: EvictionRequest, progress: Progress, signal: AbortSignal): Promise<void> => {
    const entry = decideHeartbeat(request, IMPERATIVE_INTERCEPTOR, progress, context.clock.now());
    if (entry !== undefined) await applyInterceptorStatus(context.client, request, entry, signal);
  };

  return async (key, signal) => {
    const request = context.requests.get(key);
    if (request === undefined || isFinished(request)) {
      attempts.delete(key);
      return {};
    }
    if (request.status?.activeInterceptors?.[0] !== IMPERATIVE_INTERCEPTOR) return {};
    const pod = context.pods.get(`${request.metadata.namespace}/${request.spec.target.pod.name}`);
    if (pod === undefined || pod.metadata.uid !== request.spec.target.pod.uid) return {};
    const name = pod.metadata.name;
    if (pod.metadata.deletionTimestamp !== undefined) {
      const expectedFinishAt = Date.parse(pod.metadata.deletionTimestamp);
      await report(request, { message: `Pod ${name} is terminating.`, expectedFinishAt }, signal);
      return { againMs: HEARTBEAT_EVERY_MS };
    }
    const podType = podTypeOf(pod);
    if (podType !== 'Default') {
      const message = `API-initiated eviction of ${podType} pods is not supported; waiting for ${name} to end by other means.`;
      await report(request, { message }, signal);
      return { againMs: HEARTBEAT_EVERY_MS };
    }
    const now = context.clock.now();
    const last = attempts.get(key) ?? { count: 0, nextAt: 0 };
    if (now < last.nextAt) return { againMs: last.nextAt - now };
    const attempt = last.count + 1;
    const outcome = await evict(context, pod, attempt, signal);
    switch (outcome.kind) {
      case 'gone':
        return {};
      case 'accepted': {
        attempts.set(key, { count: attempt, nextAt: now + ACCEPTED_PAUSE_MS });
        context.log.info({ pod: `${pod.metadata.namespace}/${name}` }, 'evicted pod');
        const expectedFinishAt = now + graceSecOf(pod) * 1000;
        await report(request, { message: `Pod ${name} is terminating.`, expectedFinishAt }, signal);
        return { againMs: HEARTBEAT_EVERY_MS };
      }
      case 'blocked':
        attempts.set(key, { count: attempt, nextAt: now + outcome.retryAfterMs });
        context.log.info(
          { pod: `${pod.metadata.namespace}/${name}`, attempt, reason: outcome.message },
          'eviction blocked',
        );
        await report(request, { message: outcome.message }, signal);
        return { againMs: outcome.retryAfterMs };
    }
  };
}
