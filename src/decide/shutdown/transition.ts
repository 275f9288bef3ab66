/**
 * The transitions of the phase machine. They are decided from facts that were read, never from signals that may have been
 * lost. Each transition has a name that the log, the documentation and the tests use.
 */
import { printable, shortened } from '../../printable.ts';
import { firstNames } from '../name-list.ts';
import { maintenanceReason, shutdownNames } from '../maintenance/agent-names.ts';
import { goingOnAlone, leftAlone } from './completed-maintenance.ts';
import { mayHandOver, type Phase, type PhaseFacts, remakeAt, type Shutdown, type ShutdownDeadline } from './phase.ts';
import { patienceMs } from './take-over.ts';

/** What may happen to the phase. */
export const TRANSITIONS = [
  /** watching or recovering → draining: a shutdown was detected. */
  'begin',
  /** draining: an earlier deadline became known. */
  'tighten',
  /** draining: systemd or logind names the shutdown and its kind, or another one than before. */
  'specify',
  /** draining: the trigger that named the deadline was taken back. */
  'relax',
  /** draining: the NodeMaintenance gets another name, because the name is taken or the object was deleted. */
  'rename',
  /** draining with the cluster → draining offline: the API server does not answer or refuses the drain, has no such node, cannot end the pods, or has the maintenance completed. */
  'loseCluster',
  /** draining offline → draining with the cluster: the API server is back and has the state of the drain. */
  'handOver',
  /** draining → released: all pods ended. */
  'finish',
  /** draining → released although pods are left. */
  'force',
  /** draining or released → recovering: the shutdown was called off. */
  'cancel',
  /** draining or released → recovering: the machine was booted since. */
  'boot',
  /** recovering → watching: everything is back in its place. */
  'settle',
] as const;
export type TransitionName = (typeof TRANSITIONS)[number];

/** One change of the phase. */
export interface Transition {
  readonly name: TransitionName;
  readonly from: Phase;
  readonly to: Phase;
}

/** A machine that is still up so long after its release is not going down: the shutdown counts as called off. */
const RELEASE_GRACE_MS = 60_000;

/** Less is no step of the clock. */
const CLOCK_STEP_MS = 10_000;

/** A kubelet that registers its node anew does so in seconds; without a Node object no controller drains the machine. */
const NODE_GONE_MS = 30_000;

type Draining = Extract<Phase, { readonly kind: 'draining' }>;
type Released = Extract<Phase, { readonly kind: 'released' }>;

/**
 * For how long the shutdown has been held, in milliseconds: over restarts of the agent, and whatever is done to the clock,
 * because a shutdown is held within one boot.
 */
function heldMs({ since, sinceBootMs }: Shutdown, facts: PhaseFacts): number {
  return sinceBootMs === undefined ? facts.now - since : facts.sinceBootMs - sinceBootMs;
}

function released(phase: Shutdown, { now: releasedAt, sinceBootMs: releasedSinceBootMs }: PhaseFacts): Released {
  return { ...phase, kind: 'released', releasedAt, releasedSinceBootMs };
}

/** How long ago the machine was released, in milliseconds. */
function releasedMs({ releasedAt, releasedSinceBootMs }: Released, { now, sinceBootMs }: PhaseFacts): number {
  return releasedSinceBootMs === undefined ? now - releasedAt : sinceBootMs - releasedSinceBootMs;
}

/** Why the machine waits no longer although pods are left; undefined while it waits. */
function forcedRelease(shutdown: Shutdown, facts: PhaseFacts): string | undefined {
  const { release, maxHoldMs, waitingFor = [] } = facts;
  const still = waitingFor.length > 0 ? `; it still waited for ${firstNames(waitingFor, 10)}` : '';
  if (release !== undefined) return `${release}${still}`;
  const isLeft = shutdown.mode === 'offline' ? !facts.handingOver : facts.endsAlone === undefined;
  if (facts.drained && isLeft && facts.left !== undefined) return facts.left;
  const left = leftAlone(shutdown, facts);
  if (left !== undefined || maxHoldMs === undefined || heldMs(shutdown, facts) < maxHoldMs) return left;
  return `it was held for ${maxHoldMs / 1000} s, the most that maxHoldSec allows${still}`;
}

/** The drain of a shutdown that is detected now; undefined where the machine stays up, or may do so. */
function begun(facts: PhaseFacts): Draining | undefined {
  if (facts.goingDown.kind !== 'yes') return undefined;
  const { origin } = facts.goingDown;
  const deadline = namedDeadline(facts, 0);
  const reason = maintenanceReason(facts.goingDown.reason);
  // Where all names are taken the API server refuses this one, and the drain goes on offline.
  const maintenance = facts.freeName ?? shutdownNames(facts.nodeName)[0] ?? '';
  const mode = facts.clusterConfigured ? 'cluster' : 'offline';
  const { now: since, sinceBootMs, bootId } = facts;
  const named = deadline === undefined ? {} : { deadline };
  const phase = { maintenance, mode, origin, reason, since, sinceBootMs, bootId, ...named } as const;
  return specified({ kind: 'draining', ...phase }, facts);
}

/** The earliest deadline now of a shutdown that is held for so long, the end of the longest hold too; undefined where there is none. */
function namedDeadline(
  { goingDown, now: since, maxHoldMs = Infinity }: PhaseFacts,
  forMs: number,
): ShutdownDeadline | undefined {
  if (goingDown.kind !== 'yes') return undefined;
  const { deadline = Infinity, triggerDeadline = Infinity } = goingDown;
  const holdEnds = since + maxHoldMs - forMs;
  const at = Math.min(deadline, triggerDeadline, holdEnds);
  if (at === Infinity) return undefined;
  if (at === triggerDeadline) return { at, since, of: 'trigger' };
  return { at, since, ...(at === deadline ? {} : { isHold: true }) };
}

/** The drain without the deadline of a trigger that was taken back; the same object where there is none. */
function relaxed(phase: Draining, { goingDown }: PhaseFacts): Draining {
  const { deadline, ...rest } = phase;
  if (deadline?.of !== 'trigger' || goingDown.kind !== 'yes' || goingDown.triggerDeadline !== undefined) return phase;
  return { ...rest, withdrawnDeadline: deadline.at };
}

/** The earliest deadline that was ever named applies: one of others that was not taken back is never made longer again. */
function tightened(phase: Draining, facts: PhaseFacts): Draining {
  const { deadline } = phase;
  const named = namedDeadline(facts, heldMs(phase, facts));
  if (named === undefined || named.at === deadline?.at) return phase;
  // The end of the hold moves with a clock that is set, and only then.
  const isHold = deadline?.isHold === true && named.isHold === true;
  const isEarlier = named.at < (deadline?.at ?? Infinity);
  const isNew = isHold ? Math.abs(named.at - deadline.at) > CLOCK_STEP_MS : isEarlier;
  return isNew ? { ...phase, deadline: named } : phase;
}

/** The kind, the logind and the stand that were named last apply; what cannot be read for a while is not forgotten. */
function specified(phase: Draining, { goingDown, maintenance, stand: seen }: PhaseFacts): Draining {
  const { shutdownKind = phase.shutdownKind, namedBy = phase.namedBy } = goingDown.kind === 'yes' ? goingDown : {};
  const stand = maintenance === 'open' ? seen : phase.stand;
  if (shutdownKind === phase.shutdownKind && namedBy === phase.namedBy && stand === phase.stand) return phase;
  return {
    ...phase,
    ...(shutdownKind === undefined ? {} : { shutdownKind }),
    ...(namedBy === undefined ? {} : { namedBy }),
    ...(stand === undefined ? {} : { stand }),
  };
}

/**
 * The shutdown with another name for its NodeMaintenance, where the name belongs to another object or the NodeMaintenance
 * was deleted; the same object where neither is so. The machine goes down all the same, so its pods leave in order: it is made
 * again, more and more slowly where somebody deletes it again and again.
 */
function renamed(phase: Draining, facts: PhaseFacts): Draining {
  const { maintenance: state, freeName, sinceBootMs } = facts;
  if ((state !== 'taken' && state !== 'deleted') || freeName === undefined || !mayHandOver(phase)) return phase;
  const deleted = (phase.renamed?.deleted ?? 0) + (state === 'deleted' ? 1 : 0);
  const from = [...new Set([...(phase.renamed?.from ?? []), phase.maintenance])];
  const { stand, ...rest } = phase;
  // The API server has not taken this one yet, but a drain that had to wait has begun nothing.
  const kept = stand === 'waits' || stand === 'guarded' ? { stand } : {};
  return { ...rest, ...kept, maintenance: freeName, renamed: { from, deleted, sinceBootMs } };
}

/** The drain without the cluster, where that cannot go on with it. */
function goingOnOffline(phase: Draining, facts: PhaseFacts): Draining | undefined {
  const { askedSinceBootMs = Infinity, stall, endsAlone } = facts;
  const offline: Draining = { ...phase, mode: 'offline' };
  const refusedFor = (refusal: string): Draining => {
    // A longer reason has no room in an Event.
    return { ...offline, refusal: shortened(printable(refusal), 512) };
  };
  if (endsAlone !== undefined) return refusedFor(endsAlone);
  if (facts.nodeGoneMs >= NODE_GONE_MS || facts.manifestsStuck) return offline;
  if (facts.maintenance !== 'open') {
    // The wait begins with the first question: the hooks before it take nothing of it.
    const askedAt = Math.max(askedSinceBootMs, remakeAt(phase));
    // A process that was restarted has not seen the NodeMaintenance that the API server had taken before.
    const isTaken = facts.maintenance === 'absent' && phase.stand !== undefined;
    const patience = patienceMs(phase, { refusal: undefined }, { ...facts, stand: phase.stand ?? facts.stand });
    const limitMs = isTaken ? patience : facts.apiWaitMs;
    return facts.sinceBootMs - askedAt >= limitMs ? offline : undefined;
  }
  if (stall === undefined || stall.forMs < patienceMs(phase, stall, facts)) return undefined;
  const { refusal } = stall;
  return refusal === undefined ? offline : refusedFor(refusal);
}

/** What changes in a drain that goes on. */
function goOn(phase: Draining, facts: PhaseFacts): Transition | undefined {
  const timely = tightened(relaxed(phase, facts), facts);
  const known = specified(timely, facts);
  const current = renamed(known, facts);
  const to = (name: TransitionName, mode: Shutdown['mode']): Transition => ({
    name,
    from: phase,
    to: { ...current, mode },
  });
  if (facts.maintenance === 'completed' && phase.completed === undefined) {
    return { name: 'loseCluster', from: phase, to: goingOnAlone(known, facts) };
  }
  if (current !== known) return to('rename', phase.mode);
  const offline = phase.mode === 'cluster' ? goingOnOffline(known, facts) : undefined;
  if (offline !== undefined) return { name: 'loseCluster', from: phase, to: offline };
  if (phase.mode === 'offline' && facts.handedOver && mayHandOver(phase)) return to('handOver', 'cluster');
  if (timely !== phase) {
    const isLater = (timely.deadline?.at ?? Infinity) > (phase.deadline?.at ?? Infinity);
    return to(isLater ? 'relax' : 'tighten', phase.mode);
  }
  return known === phase ? undefined : to('specify', phase.mode);
}

/** The shutdown as one that was called off, with who did so where it is known. */
function canceled(shutdown: Shutdown, { goingDown }: PhaseFacts): Phase {
  const voidLogind = goingDown.kind === 'no' ? goingDown.voidLogind : undefined;
  const isOfLogind = shutdown.origin === 'logind' || shutdown.origin === 'schedule' || voidLogind !== undefined;
  const canceledBy = shutdown.canceledBy ?? (isOfLogind ? 'logind' : undefined);
  return {
    ...shutdown,
    kind: 'recovering',
    cause: 'canceled',
    ...(canceledBy === undefined ? {} : { canceledBy }),
    ...(voidLogind === undefined ? {} : { voidLogind }),
  };
}

/** Whether nothing takes the machine down any more, or only what was announced after somebody called the shutdown off. */
function isTakenBack({ canceledBy }: Shutdown, { goingDown }: PhaseFacts): boolean {
  if (canceledBy === undefined) return false;
  return goingDown.kind === 'no' || (goingDown.kind === 'yes' && goingDown.origin === 'trigger');
}

/** Whether everything is back in its place, and no logind prepares the shutdown any more. */
function isOver(phase: Extract<Phase, { readonly kind: 'recovering' }>, { recovered, goingDown }: PhaseFacts): boolean {
  if (!recovered || phase.cause === 'boot' || phase.voidLogind === undefined) return recovered;
  return goingDown.kind === 'no' && goingDown.voidLogind === undefined;
}

function decideDraining(phase: Draining, facts: PhaseFacts): Transition | undefined {
  if (phase.bootId !== facts.bootId) {
    return { name: 'boot', from: phase, to: { ...phase, kind: 'recovering', cause: 'boot' } };
  }
  if (facts.goingDown.kind === 'no' || isTakenBack(phase, facts)) {
    return { name: 'cancel', from: phase, to: canceled(phase, facts) };
  }
  if (facts.drained && facts.left === undefined) return { name: 'finish', from: phase, to: released(phase, facts) };
  const forced = forcedRelease(phase, facts);
  if (forced !== undefined) return { name: 'force', from: phase, to: { ...released(phase, facts), forced } };
  return goOn(phase, facts);
}

/** Whether a machine that was let go stays up: at once where a client says so, else when it is still up after a while. */
function staysUp(phase: Released, facts: PhaseFacts): boolean {
  if (isTakenBack(phase, facts)) return true;
  return facts.goingDown.kind === 'no' && releasedMs(phase, facts) >= RELEASE_GRACE_MS;
}

function decideReleased(phase: Released, facts: PhaseFacts): Transition | undefined {
  const { releasedAt: _at, releasedSinceBootMs: _sinceBootMs, forced: _forced, ...shutdown } = phase;
  if (phase.bootId !== facts.bootId) {
    return { name: 'boot', from: phase, to: { ...shutdown, kind: 'recovering', cause: 'boot' } };
  }
  if (!staysUp(phase, facts)) return undefined;
  return { name: 'cancel', from: phase, to: canceled(shutdown, facts) };
}

/** The logind whose shutdown was called off, as the next shutdown has to know it too. */
function stillVoid(phase: Phase, { bootId }: Shutdown): Pick<Shutdown, 'voidLogind'> {
  if (phase.kind === 'watching' || phase.voidLogind === undefined || phase.bootId !== bootId) return {};
  return { voidLogind: phase.voidLogind };
}

/** Decides what happens to the phase; undefined where it stays as it is. */
export function decidePhase(phase: Phase, facts: PhaseFacts): Transition | undefined {
  switch (phase.kind) {
    case 'draining':
      return decideDraining(phase, facts);
    case 'released':
      return decideReleased(phase, facts);
    case 'watching':
    case 'recovering': {
      // What could not be put back yet must not keep the next shutdown from its drain.
      const next = begun(facts);
      if (next !== undefined) return { name: 'begin', from: phase, to: { ...next, ...stillVoid(phase, next) } };
      const isSettled = phase.kind === 'recovering' && isOver(phase, facts);
      return isSettled ? { name: 'settle', from: phase, to: { kind: 'watching' } } : undefined;
    }
  }
}
