/**
 * How a member of the control plane leaves without a blip, and how it comes back. It leaves when the other members of etcd are in step
 * and one of them leads; scheduler and controller-manager first, then the API server, then etcd: each after the end of those before it.
 * It comes back in the other order: etcd, until it is in step; the API server, until it is ready; then the others. Each wait has an
 * end: what cannot be known or is refused never holds a machine.
 */
import { counted } from '../counted.ts';
import { parseDuration } from '../duration.ts';
import { judgeControlPlane } from '../maintenance/control-plane-guard.ts';
import type { ControlPlaneProgram } from './control-plane-pod.ts';

/** What a member waits for. */
export type MemberWait = 'etcd-members' | 'etcd-leader' | 'etcd-start' | 'api-server-start';

/**
 * For how long each is waited for in one drain, in milliseconds. etcd catches up, and an API server starts, within a minute or two.
 * After this time the drain, or the return, goes on without it.
 */
export const MEMBER_WAIT_MS: Readonly<Record<MemberWait, number>> = {
  'etcd-members': 60_000,
  'etcd-leader': 15_000,
  'etcd-start': 120_000,
  'api-server-start': 120_000,
};
/** Before a deadline, no more than this part of the time that is left is spent on one of these waits. */
const PART_OF_DEADLINE = 0.1;
/** A member that lacks more entries of the log is not in step: one that catches up is asked again a second later. */
const MAX_BEHIND = 1_000;

/** A member of etcd. */
export interface EtcdMember {
  readonly id: string;
  readonly name: string;
  readonly isLearner: boolean;
  /** What it says of itself; a text says why it does not. */
  readonly status: EtcdStatus | string;
}

/** What a member of etcd says of itself. */
interface EtcdStatus {
  /** The id of the member that leads; '0' where none does. */
  readonly leader: string;
  readonly raftIndex: number;
  readonly appliedIndex: number;
  /** What is wrong with it, as it says. */
  readonly errors: readonly string[];
}

/** etcd as this node's member sees it. */
export interface EtcdView {
  /** The id of this node's member. */
  readonly self: string;
  readonly members: readonly EtcdMember[];
}

/** Why a program of the control plane neither leaves nor comes back yet. */
export interface MemberHold {
  readonly wait: MemberWait;
  readonly message: string;
}

/** A wait of the whole member: which programs it holds, and to whom the lead of etcd is to be handed. */
export interface MemberStep extends MemberHold {
  readonly holds: readonly ControlPlaneProgram['name'][];
  readonly moveTo?: EtcdMember;
}

const MANAGERS = ['kube-scheduler', 'kube-controller-manager'] as const;
const ALL = [...MANAGERS, 'kube-apiserver', 'etcd'] as const;

/** Why a member of etcd is not in step with the others; undefined where it is. */
function faultOf({ status, isLearner }: EtcdMember, newest: number): string | undefined {
  if (typeof status === 'string') return status;
  if (isLearner) return 'a learner';
  if (status.leader === '0') return 'without a leader';
  if (status.errors.length > 0) return status.errors.join(', ');
  const behind = newest - Math.min(status.raftIndex, status.appliedIndex);
  return behind > MAX_BEHIND ? `${counted(behind, 'entry', 'entries')} behind` : undefined;
}

/** What is known of a member that leaves. */
export interface LeavingFacts {
  /** What its etcd tells, or why it does not; undefined where its manifest is not here, or is not to leave. */
  readonly etcd: EtcdView | string | undefined;
  /** Whether no API server is to be asked: then the lead of etcd is handed over, and nothing else is waited for. */
  readonly isOffline: boolean;
}

function stepOfEtcd({ self, members }: EtcdView, isOffline: boolean): MemberStep | undefined {
  const voters = members.filter(({ isLearner }) => !isLearner);
  if (voters.length < 2 || !voters.some(({ id }) => id === self)) return undefined;
  const newest = Math.max(0, ...voters.map(indexOf));
  const judged = voters.map((member) => {
    const fault = faultOf(member, newest);
    return { member, name: member.id, isStatic: true, ...(fault === undefined ? {} : { fault }) };
  });
  if (!isOffline && judgeControlPlane(judged, new Set([self]), new Set(), true).kind === 'unsafe') {
    const faults = judged.flatMap(({ member, fault }) =>
      fault === undefined || member.id === self ? [] : [`${member.name}: ${fault}`],
    );
    const message = `the other members of etcd are not in step (${faults.join('; ')})`;
    return { wait: 'etcd-members', message, holds: ALL };
  }
  const own = voters.find(({ id }) => id === self)?.status;
  if (typeof own !== 'object' || own.leader !== self) return undefined;
  const [first] = judged
    .filter(({ name, fault }) => name !== self && fault === undefined)
    .map(({ member }) => member)
    .toSorted((one, other) => indexOf(other) - indexOf(one));
  const message =
    first === undefined ? 'it leads etcd, and no other member is in step' : `etcd is handed to ${first.name}`;
  return { wait: 'etcd-leader', message, holds: ALL, ...(first === undefined ? {} : { moveTo: first }) };
}

function indexOf({ status }: EtcdMember): number {
  return typeof status === 'string' ? 0 : status.raftIndex;
}

/** What a member that leaves waits for now, of the waits that are not `over`; undefined where nothing holds it. */
export function leavingStep({ etcd, isOffline }: LeavingFacts, over: ReadonlySet<MemberWait>): MemberStep | undefined {
  const ofEtcd: MemberStep | undefined =
    typeof etcd === 'string'
      ? { wait: 'etcd-leader', message: `etcd does not tell who leads: ${etcd}`, holds: ALL }
      : etcd && stepOfEtcd(etcd, isOffline || over.has('etcd-members'));
  return ofEtcd !== undefined && over.has(ofEtcd.wait) ? undefined : ofEtcd;
}

/** What is known of a member that comes back. */
interface ReturningFacts {
  /** What its etcd tells, or why it does not; undefined where its manifest is not here. */
  readonly etcd: EtcdView | string | undefined;
  /** Whether its API server is ready; undefined where its manifest is not here, or does not say where to ask. */
  readonly isReady: boolean | undefined;
}

/** What a member that comes back waits for now, of the waits that are not `over`; undefined where nothing holds it. */
export function returningStep(
  { etcd, isReady }: ReturningFacts,
  over: ReadonlySet<MemberWait>,
): MemberStep | undefined {
  const fault = typeof etcd === 'object' ? ownFault(etcd) : etcd;
  if (fault !== undefined && !over.has('etcd-start')) {
    return { wait: 'etcd-start', message: `its etcd is not in step: ${fault}`, holds: [...MANAGERS, 'kube-apiserver'] };
  }
  if (isReady !== false || over.has('api-server-start')) return undefined;
  return { wait: 'api-server-start', message: 'its API server is not ready', holds: MANAGERS };
}

/** Whether programs of the control plane wait for others before they come back; before the first pass that may be so after a boot. */
export function isOnItsWayBack(
  progress: readonly { readonly wait?: string }[] | undefined,
  isBooted: boolean,
): boolean {
  return progress?.some(({ wait }) => wait === 'etcd-start' || wait === 'api-server-start') ?? isBooted;
}

function ownFault({ self, members }: EtcdView): string | undefined {
  const own = members.find(({ id }) => id === self);
  return own === undefined ? 'it is no member' : faultOf(own, Math.max(0, ...members.map(indexOf)));
}

/** Those of the waits, each with its beginning, that are over `now`; times on one clock, in milliseconds. */
export function waitsOver(
  since: ReadonlyMap<MemberWait, number>,
  now: number,
  leftMs = Infinity,
): ReadonlySet<MemberWait> {
  const isOver = ([wait, at]: readonly [MemberWait, number]): boolean =>
    now - at >= Math.min(MEMBER_WAIT_MS[wait], Math.max(0, leftMs * PART_OF_DEADLINE));
  return new Set([...since].filter(isOver).map(([wait]) => wait));
}

/** So long HAProxy takes with its defaults until it sends an API server no new connections. */
const BALANCER_MS = 6_000;

/** What to say of an API server that stops to listen before a usual balancer has noticed; undefined where none of these does. */
export function shortDelay(programs: readonly ControlPlaneProgram[]): string | undefined {
  const server = programs.find(({ name }) => name === 'kube-apiserver');
  const delayMs = parseDuration(server?.flags['shutdown-delay-duration'] ?? '0') ?? 0;
  if (server === undefined || delayMs >= BALANCER_MS) return undefined;
  return `kube-apiserver takes new connections for ${delayMs / 1_000} s after its SIGTERM (--shutdown-delay-duration), and a balancer may notice later: HAProxy takes 6 s`;
}
