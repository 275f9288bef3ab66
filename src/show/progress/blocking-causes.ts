/** What blocks the drain of a node, by its cause: pods that wait for the same are one line, and not one line each. */
import type { BlockingPod } from '../../api/node-maintenance.ts';
import { timeOf } from '../../decide/time.ts';
import { shortMessage, withoutAttempts } from '../../decide/interceptor/message.ts';

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
export function blockingOf({ progress, blocking }: BlockedPod): BlockingPod | undefined {
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

/** The cause as the part of a sentence that follows the number of pods: its verb for one pod, for several, and the rest. */
type Words = readonly [one: string, several: string, rest: string];

function wordsOf({ reason, message }: BlockingPod): Words {
  const said = withoutAttempts(message).replace(/\.$/, '');
  switch (reason) {
    case 'PodDisruptionBudget':
      return ['waits', 'wait', `for ${shortMessage(message)}`];
    case 'EvictionRefused':
      return ['is', 'are', `refused the eviction: ${said}`];
    case 'EvictionFailed':
      return ['waits', 'wait', `for the API server: ${said}`];
    case 'Interceptor':
      return ['waits', 'wait', `for the interceptor ${said}`];
    case 'InterceptorSilent':
      return [
        'waits',
        'wait',
        `for the interceptor ${said.split(' ', 1)[0]}, which gives no sign of life; control passes on after 20 minutes of it`,
      ];
    case 'NoInterceptor':
      return ['has', 'have', `no interceptor that acts${said === '' ? '' : `: ${said}`}`];
    case 'NoAgent':
      return ['is', 'are', `static, and ${said}`];
    case 'NotSupported':
      return ['cannot', 'cannot', `be evicted: ${said}`];
    case 'RequestHeld':
      return ['waits', 'wait', `for a request: ${said}`];
    case 'Finalizer':
      return ['is', 'are', `held by ${said.replace(/^it has /, '')}`];
    case 'NodeUnreachable':
      return [
        'may',
        'may',
        `have ended or not: ${said.replace(/, so that it is unknown.*$/s, '').replace(/^its/, 'the')}`,
      ];
    case 'Returning':
      return ['comes', 'come', `back after each eviction: ${said}`];
    case 'VolumesInUse':
      return ['runs', 'run', said.replace(/^it runs /, '')];
    case 'NotEnding':
      return said.startsWith('it was given')
        ? ['was', 'were', said.replace(/^it was /, '')]
        : ['has', 'have', 'not ended although the grace period is over'];
  }
}

/** The causes that keep these pods, those with most pods first. */
export function blockingCauses(pods: readonly BlockedPod[]): readonly BlockingCause[] {
  const blocked = pods.flatMap((pod) => {
    const blocking = causeOf(pod);
    return blocking === undefined ? [] : [{ pod, blocking, words: wordsOf(blocking) }];
  });
  // A budget is an object of its namespace.
  const keyOf = ({ pod, blocking, words }: (typeof blocked)[number]): string =>
    JSON.stringify([blocking.reason, blocking.reason === 'PodDisruptionBudget' ? pod.namespace : '', words[2]]);
  const causes = [...Map.groupBy(blocked, keyOf).values()].flatMap((group): BlockingCause[] => {
    const [first] = group;
    if (first === undefined) return [];
    const [one, several, rest] = first.words;
    const times = group.flatMap(({ blocking }) => timeOf(blocking.since) ?? []);
    return [
      {
        reason: first.blocking.reason,
        text: group.length === 1 ? `1 pod ${one} ${rest}` : `${group.length} pods ${several} ${rest}`,
        pods: group.map(({ pod: { namespace, name } }) => `${namespace}/${name}`).toSorted(),
        ...(times.length === 0 ? {} : { since: Math.min(...times) }),
      },
    ];
  });
  return causes.toSorted((a, b) => b.pods.length - a.pods.length || a.text.localeCompare(b.text));
}
