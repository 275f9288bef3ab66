/** What blocks the drain of a node, by its cause: pods that wait for the same are one line, and not one line each. */
import type { BlockingPod } from '../../api/node-maintenance.ts';
import { timeOf } from '../../decide/time.ts';
import { counted } from '../../decide/counted.ts';
import { shortMessage } from '../../decide/interceptor/message.ts';

/** A pod that has to leave, as far as its cause is concerned. */
interface BlockedPod {
  readonly namespace: string;
  readonly name: string;
  readonly progress: { readonly terminatingUntil?: number; readonly active?: { readonly expectedAt?: number } };
  /** The reason that the controller reports. */
  readonly blocking?: BlockingPod;
}

/** One cause, and the pods that it keeps on their node. */
export interface BlockingCause {
  readonly reason: BlockingPod['reason'];
  /** A sentence without its end, such as "4 pods wait for PodDisruptionBudget p0, which needs 100 healthy pods and has 4". */
  readonly text: string;
  /** NAMESPACE/NAME of the pods, sorted. */
  readonly pods: readonly string[];
  /** Since when the first of them waits, in milliseconds since the epoch. */
  readonly since?: number;
}

/** The reasons that block a terminating pod; the status may still have another from before it was terminating. */
const ENDING_REASONS: ReadonlySet<BlockingPod['reason']> = new Set(['Finalizer', 'NodeUnreachable', 'NotEnding']);

/** What blocks the pod now; undefined where nothing does. */
export function blockingOf({ progress, blocking }: Pick<BlockedPod, 'progress' | 'blocking'>): BlockingPod | undefined {
  const isStale = progress.terminatingUntil !== undefined && blocking && !ENDING_REASONS.has(blocking.reason);
  return isStale === true ? undefined : blocking;
}

/** What keeps the pod, where nothing is being done about it; an interceptor that works is told pod by pod. */
export function causeOf(pod: BlockedPod): BlockingPod | undefined {
  const blocking = blockingOf(pod);
  return blocking?.reason === 'Interceptor' ? undefined : blocking;
}

/** Whether the pod is kept by something that time alone does not end, so that nobody can say when its node is drained. */
export function hasNoKnownEnd(pod: BlockedPod, now: number): boolean {
  const blocking = blockingOf(pod);
  if (blocking === undefined) return false;
  const { terminatingUntil, active } = pod.progress;
  if (blocking.reason === 'Interceptor') return (active?.expectedAt ?? 0) <= now;
  return blocking.reason !== 'NotEnding' || (terminatingUntil ?? 0) <= now;
}

/** What each reason says of one pod, and of several; what is written about the pod follows. */
const WORDS: Readonly<Record<BlockingPod['reason'], readonly [one: string, several: string]>> = {
  PodDisruptionBudget: ['waits for', 'wait for'],
  EvictionRefused: ['is refused the eviction:', 'are refused the eviction:'],
  EvictionFailed: ['waits for the API server:', 'wait for the API server:'],
  Interceptor: ['waits for the interceptor', 'wait for the interceptor'],
  InterceptorSilent: ['waits for a silent interceptor:', 'wait for a silent interceptor:'],
  NoInterceptor: ['has no interceptor that acts:', 'have no interceptor that acts:'],
  NoAgent: ['is static:', 'are static:'],
  NotSupported: ['cannot be evicted:', 'cannot be evicted:'],
  RequestHeld: ['waits for a request:', 'wait for a request:'],
  Finalizer: ['is held:', 'are held:'],
  NodeUnreachable: ['is still there:', 'are still there:'],
  Returning: ['comes back after each eviction:', 'come back after each eviction:'],
  VolumesInUse: ['stays for volumes:', 'stay for volumes:'],
  NotEnding: ['is still there:', 'are still there:'],
};

/** The causes that keep these pods, those with most pods first. */
export function blockingCauses(pods: readonly BlockedPod[]): readonly BlockingCause[] {
  const blocked = pods.flatMap((pod) => {
    const blocking = causeOf(pod);
    return blocking === undefined ? [] : [{ pod, blocking, said: shortMessage(blocking.message).replace(/\.$/, '') }];
  });
  // A budget is an object of its namespace.
  const keyOf = ({ pod, blocking, said }: (typeof blocked)[number]): string =>
    JSON.stringify([blocking.reason, blocking.reason === 'PodDisruptionBudget' ? pod.namespace : '', said]);
  const causes = [...Map.groupBy(blocked, keyOf).values()].flatMap((group): BlockingCause[] => {
    const [first] = group;
    if (first === undefined) return [];
    const [one, several] = WORDS[first.blocking.reason];
    const count = group.length;
    const times = group.flatMap(({ blocking }) => timeOf(blocking.since) ?? []);
    return [
      {
        reason: first.blocking.reason,
        text: `${counted(count, `pod ${one}`, `pods ${several}`)} ${first.said}`.replace(/:? $/, ''),
        pods: group.map(({ pod: { namespace, name } }) => `${namespace}/${name}`).toSorted(),
        ...(times.length === 0 ? {} : { since: Math.min(...times) }),
      },
    ];
  });
  return causes.toSorted((a, b) => b.pods.length - a.pods.length || a.text.localeCompare(b.text));
}
