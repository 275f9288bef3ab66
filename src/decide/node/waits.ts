/**
 * What the drain of a machine waits for. Each kind of wait has an owner, who has chosen it and can end it, or an end of its own;
 * there is no third sort, because a machine that goes down must not wait for what nobody decides.
 */
import type { BlockingPod, WaitReason } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { HEARTBEAT_DEADLINE_MS } from '../eviction/heartbeat-deadline.ts';
import { DAEMON_SET_INTERCEPTOR, IMPERATIVE_INTERCEPTOR, KUBELET_INTERCEPTOR } from '../../api/names.ts';
import { type EvictionOutcome, isApiFailure } from '../eviction/api-answer.ts';
import { MAX_RETRY_MS } from '../eviction/back-off.ts';
import { endOf, type PodEnd, podName, podTypeOf } from '../pod.ts';
import { readInterceptorMessage, refusedBy } from '../interceptor/message.ts';
import type { ControllerLife } from '../shutdown/drainer.ts';
import { LONGEST_UNSEEN_MS } from '../shutdown/unseen-pods.ts';
import type { Phase } from '../shutdown/phase.ts';
import { LONGEST_RUNNING_MS } from '../shutdown/running-pods.ts';
import { MEMBER_WAIT_MS } from '../static-pod/control-plane-waits.ts';
import { KUBELET_WAIT_MS } from '../static-pod/moves.ts';
import { AFTER_END_MS } from '../staying-pod/staying-pods.ts';

/**
 * Who has chosen that it is waited for, and can end the wait: whoever made the pod, with its grace period; a budget; a webhook that
 * refuses an eviction or promises it; an interceptor; the limit of machines that reboot at once; the quorum of the control plane;
 * whoever made another maintenance; or this one, where nothing here can end a pod that holds no machine that goes down.
 */
type Owner = 'pod' | 'budget' | 'webhook' | 'interceptor' | 'reboots' | 'quorum' | 'maintenance' | 'person';

/** A time of the agent's configuration. */
type TimeKey = 'apiWaitSec' | 'progressWaitSec' | 'maxVolumeWaitSec';

/**
 * What follows when the time is over: the next one is asked, in the end the Eviction API; the same is tried again; the agent drains
 * in the place of the controller (alone), or over the container runtime (offline); the runtime ends what was told to end; or the
 * drain goes on, and what is left is named.
 */
type Next = 'next' | 'again' | 'alone' | 'offline' | 'runtime' | 'left';

/** `end` is a time in milliseconds, or the key of one. */
type Bound = { readonly owner: Owner } | { readonly end: number | TimeKey; readonly next: Next };

/** All kinds of wait. */
export const WAITS = {
  'grace-period': { owner: 'pod' },
  'take-over': { owner: 'pod' },
  overdue: { end: AFTER_END_MS, next: 'left' },
  'other-pods': { owner: 'pod' },
  budget: { owner: 'budget' },
  denial: { owner: 'webhook' },
  interceptor: { owner: 'interceptor' },
  'silent-interceptor': { end: HEARTBEAT_DEADLINE_MS, next: 'next' },
  'reboot-limit': { owner: 'reboots' },
  quorum: { owner: 'quorum' },
  'other-maintenance': { owner: 'maintenance' },
  'no-hands': { owner: 'person' },
  returning: { end: MAX_RETRY_MS, next: 'again' },
  'api-server': { end: 'progressWaitSec', next: 'offline' },
  'first-answer': { end: 'apiWaitSec', next: 'offline' },
  controller: { end: 'progressWaitSec', next: 'alone' },
  volumes: { end: 'maxVolumeWaitSec', next: 'left' },
  manifest: { end: KUBELET_WAIT_MS, next: 'runtime' },
  'kubelet-down': { end: KUBELET_WAIT_MS, next: 'runtime' },
  'kubelet-stop': { end: 30_000, next: 'left' },
  'etcd-members': { end: MEMBER_WAIT_MS['etcd-members'], next: 'left' },
  'etcd-leader': { end: MEMBER_WAIT_MS['etcd-leader'], next: 'left' },
  'etcd-start': { end: MEMBER_WAIT_MS['etcd-start'], next: 'left' },
  'api-server-start': { end: MEMBER_WAIT_MS['api-server-start'], next: 'left' },
  'unseen-pods': { end: LONGEST_UNSEEN_MS, next: 'left' },
  'running-pods': { end: LONGEST_RUNNING_MS, next: 'left' },
} as const satisfies Readonly<Record<string, Bound>>;

/** A kind of wait. */
export type Wait = keyof typeof WAITS;

const OWNER_WORDS: Readonly<Record<Owner, string>> = {
  pod: 'it ends with the grace period',
  budget: 'whoever keeps the budget can end that',
  webhook: 'whoever runs the webhook can end that',
  interceptor: 'the interceptor can end that',
  reboots: 'it ends with the reboots of other machines',
  quorum: 'it ends when the other members of the control plane work',
  maintenance: 'it ends with the other maintenance',
  person: 'a person has to act',
};

/** Who can end the wait, as the end of a sentence; undefined where it has an end of its own. */
export function whoEnds(wait: Wait): string | undefined {
  const bound: Bound = WAITS[wait];
  return 'owner' in bound ? OWNER_WORDS[bound.owner] : undefined;
}

/** One pod, or one thing, that the agent waits for. */
export interface Waiting {
  readonly wait: Wait;
  readonly what: string;
  /** Who is to act, for example an interceptor. */
  readonly on: string;
  readonly message: string;
  /** Milliseconds since the epoch; absent where it is not known. */
  readonly since?: number;
  /** When it should be over, in milliseconds since the epoch; absent where nobody can say. */
  readonly expectedAt?: number;
}

/** That a pod was told to end, and has not ended; of one whose time is over nobody promised that it goes on. `now` is in milliseconds. */
export function endingWait(
  what: string,
  on: 'kubelet' | 'container runtime',
  { toldAt, endsAt }: PodEnd,
  now: number,
): Waiting {
  const wait = now > endsAt ? 'overdue' : 'grace-period';
  return { wait, what, on, message: 'is terminating', since: toldAt, expectedAt: endsAt };
}

/** The pods that were told to end, and are waited for; a static one is known by its manifest. */
export function endingWaits(pods: readonly Pod[], now: number): readonly Waiting[] {
  return pods.flatMap((pod) => {
    const end = podTypeOf(pod) === 'Static' ? undefined : endOf(pod);
    return end === undefined || now > end.endsAt + AFTER_END_MS
      ? []
      : [endingWait(podName(pod.metadata), 'kubelet', end, now)];
  });
}

/** That the kubelet is waited for, which has been down since then, in milliseconds since the epoch, or is up: the wait has an end. */
export function kubeletWaits(since: number | undefined, now: number): readonly Waiting[] {
  if (since === undefined || now - since > KUBELET_WAIT_MS) return [];
  const message = 'is down; pods that were told to end are ended over the container runtime';
  return [{ wait: 'kubelet-down', what: 'the kubelet', on: 'systemd', message, since }];
}

/** Who is to act where a static pod that is targeted does not leave yet. */
export const WAITERS = {
  'other-pods': 'kubelet',
  'unseen-pods': 'container runtime',
  'etcd-members': 'control plane',
  'etcd-leader': 'control plane',
  'etcd-start': 'control plane',
  'api-server-start': 'control plane',
} as const satisfies { readonly [kind in Wait]?: string };

/** Who is to act where a call to the API server fails, or is refused for no reason of the pod. */
export const API_SERVER = 'API server';

/** What a pod waits for whose eviction has had this outcome. */
export function waitOfOutcome(outcome: EvictionOutcome): Wait {
  switch (outcome.kind) {
    case 'accepted':
    case 'budget-not-asked':
    case 'gone':
      return 'grace-period';
    case 'promised':
      return 'denial';
    case 'postponed':
    case 'failed':
      return 'api-server';
    case 'blocked':
      return outcome.byBudget ? 'budget' : isApiFailure(outcome) ? 'api-server' : 'denial';
  }
}

/** What a pod waits for by what the active interceptor of its request says; undefined where none is active. */
export function waitOfSaid(interceptor: string | undefined, message = ''): Wait {
  if (interceptor === undefined) return 'controller';
  const isLast = interceptor === IMPERATIVE_INTERCEPTOR;
  const isOurs = isLast || interceptor === KUBELET_INTERCEPTOR || interceptor === DAEMON_SET_INTERCEPTOR;
  if (!isOurs) return 'interceptor';
  // The last resort says nothing while a pod ends as planned, and says at once what refuses an eviction.
  if ((isLast && message === '') || readInterceptorMessage(message).kind === 'ending') return 'grace-period';
  // An agent that says nothing yet has not been told by the status of the maintenance that the pod leaves.
  if (!isLast) return interceptor === KUBELET_INTERCEPTOR && message !== '' ? 'manifest' : 'controller';
  const by = refusedBy(message);
  return by === 'failure' ? 'api-server' : by === 'budget' ? 'budget' : 'denial';
}

/** The same for the reasons by which the status of a maintenance names pods that block, and for those why it has not begun. */
export const WAIT_OF_REASON: Readonly<Record<BlockingPod['reason'] | WaitReason, Wait>> = {
  PodDisruptionBudget: 'budget',
  EvictionRefused: 'denial',
  EvictionFailed: 'api-server',
  Interceptor: 'interceptor',
  InterceptorSilent: 'silent-interceptor',
  NoInterceptor: 'controller',
  NoAgent: 'no-hands',
  NotSupported: 'no-hands',
  RequestHeld: 'no-hands',
  Finalizer: 'overdue',
  NodeUnreachable: 'overdue',
  NotEnding: 'overdue',
  Returning: 'returning',
  VolumesInUse: 'volumes',
  Waiting: 'other-maintenance',
  WaitingForTurn: 'reboot-limit',
  WaitingForControlPlane: 'quorum',
};

/**
 * What the drain of a shutdown waits for in the cluster where no pod is known that it waits for; `isKnown` says whether its
 * NodeMaintenance is.
 */
export function drainWaits(phase: Phase, isKnown: boolean, controller: ControllerLife | undefined): readonly Waiting[] {
  if (phase.kind !== 'draining' || phase.mode !== 'cluster') return [];
  const { maintenance: what, since, stand } = phase;
  if (isKnown && (controller === undefined || controller === 'alive'))
    return [
      { wait: 'controller', what, on: 'nodemaint controller', message: 'the controller to drain the node', since },
    ];
  if (!isKnown && (stand === 'guarded' || stand === 'waits')) {
    const why = stand === 'waits' ? 'others go first' : 'the control plane needs this machine';
    const wait = stand === 'waits' ? 'reboot-limit' : 'quorum';
    const message = `${why}, as the API server said last`;
    return [{ wait, what: 'its turn to reboot', on: 'other nodes', message, since }];
  }
  const answer = stand === undefined ? 'take the NodeMaintenance' : 'say how far the drain has come';
  const message = `the API server to ${isKnown ? 'take what the drain needs' : answer}`;
  const wait = stand === undefined && !isKnown ? 'first-answer' : 'api-server';
  return [{ wait, what, on: API_SERVER, message, since }];
}
