/** Takes pods out of their Services before they are told to end, and puts back those that stay. */
import { TRAFFIC_LABEL, TRAFFIC_LEFT_ANNOTATION } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { budgetCovers } from '../../decide/eviction/disruption-budget.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import {
  decideTraffic,
  isOutOfService,
  LEAVES,
  leftAtOf,
  SERVES,
  type TrafficStep,
} from '../../decide/traffic/traffic.ts';
import { rfc3339 } from '../../decide/time.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { InterceptorStep } from '../../kube/eviction/interceptor.ts';
import { keyOf, objectPath, PODS, sendForObject } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { actsOutOfTurn } from '../eviction/out-of-turn.ts';

/** Until our copies show that another pod of the same budget has been told to end. */
const CROWDED_AGAIN_MS = 1_000;

/** The pods that one loop takes out of their Services. */
export interface Traffic {
  /** What comes before the end of the pod; `trustUntil` is when a deadline ends all waits. */
  step(pod: Pod, trustUntil: number | undefined): TrafficStep;
  /** The wait for a budget that other pods use which have left their Services and were not told to end yet. */
  crowded(pod: Pod): InterceptorStep | undefined;
  /** Takes the pod out of its Services for `drainMs`. */
  leave(pod: Pod, drainMs: number, signal: AbortSignal): Promise<InterceptorStep>;
  /** Puts the pod back: it is not told to end now. */
  giveBack(pod: Pod, signal: AbortSignal): Promise<void>;
}

/** Sets the label of a pod, with the time since when it is ours. The UID makes the patch fail on a namesake. */
async function writeLabel(client: KubeClient, pod: Pod, leftAt: number | null, signal: AbortSignal): Promise<void> {
  const { uid } = pod.metadata;
  const labels = { [TRAFFIC_LABEL]: leftAt === null ? SERVES : LEAVES };
  const annotations = { [TRAFFIC_LEFT_ANNOTATION]: leftAt === null ? null : rfc3339(leftAt) };
  const body = { metadata: { uid, labels, annotations } };
  const path = objectPath(PODS, pod.metadata);
  await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404, 409], signal);
}

/** Puts a pod back into its Services, if we have taken it out. Returns whether it did. */
export async function putBack(client: KubeClient, pod: Pod, signal: AbortSignal): Promise<boolean> {
  if (!isOutOfService(pod)) return false;
  await writeLabel(client, pod, null, signal);
  return true;
}

/** The step of a pod that still answers requests until `until`, in milliseconds since the epoch. */
export function trafficWait(pod: Pod, until: number, now: number): InterceptorStep {
  const message = `Pod ${pod.metadata.name} has left its Services; it is told to end at ${rfc3339(until)}.`;
  return { kind: 'working', message, expectedFinishAt: until, againMs: until - now };
}

/** Whether the pod is out of its Services although nobody requests its eviction any more. */
export function isOutInVain(context: ControllerContext, pod: Pod): boolean {
  if (!isOutOfService(pod) || pod.metadata.deletionTimestamp !== undefined) return false;
  const request = context.requests.get(`${pod.metadata.namespace}/${pod.metadata.uid}`);
  if (request === undefined) return true;
  return isFinished(request) && !actsOutOfTurn(context, 'Default', { request, pod });
}

/** Remembers when each pod left: our copy of it may be older. */
export function createTraffic(context: ControllerContext): Traffic {
  const { client, clock, log, budgets } = context;
  const left = new Map<string, { readonly key: string; readonly at: number }>();
  const forgetGone = (): void => {
    for (const [uid, { key }] of left) if (context.pods.get(key)?.metadata.uid !== uid) left.delete(uid);
  };
  return {
    step: (pod, trustUntil) => {
      const { uid = '' } = pod.metadata;
      const now = clock.now();
      const leftAt = left.get(uid)?.at ?? leftAtOf(pod, now);
      if (leftAt !== undefined) left.set(uid, { key: keyOf(pod), at: leftAt });
      return decideTraffic(pod, { leftAt, trustUntil }, now);
    },
    crowded: (pod) => {
      forgetGone();
      const others = [...left.values()].flatMap(({ key }) => {
        const other = context.pods.get(key);
        return other === undefined || other.metadata.deletionTimestamp !== undefined ? [] : [other];
      });
      for (const budget of others.length === 0 ? [] : budgets.list()) {
        if (!budgetCovers(budget, pod)) continue;
        const used = others.filter((other) => budgetCovers(budget, other)).length;
        if (used < (budget.status?.disruptionsAllowed ?? 0)) continue;
        const message = `Pod ${pod.metadata.name} waits for other pods of PodDisruptionBudget ${budget.metadata.name} that have left their Services.`;
        return { kind: 'working', message, againMs: CROWDED_AGAIN_MS };
      }
      return undefined;
    },
    leave: async (pod, drainMs, signal) => {
      const now = clock.now();
      forgetGone();
      await writeLabel(client, pod, now, signal);
      left.set(pod.metadata.uid ?? '', { key: keyOf(pod), at: now });
      log.info({ pod: keyOf(pod), drainMs }, 'took a pod out of its Services');
      return trafficWait(pod, now + drainMs, now);
    },
    giveBack: async (pod, signal) => {
      if (!left.delete(pod.metadata.uid ?? '') && !isOutOfService(pod)) return;
      await writeLabel(client, pod, null, signal);
      log.info({ pod: keyOf(pod) }, 'put a pod back into its Services');
    },
  };
}
