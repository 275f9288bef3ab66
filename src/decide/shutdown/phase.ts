/**
 * The phases of the node agent. States carry their data, so that a record of one on disk is all a restarted agent
 * needs; transitions are decided from facts that were read, never from signals that may have been lost.
 */
import { printable, shortened } from '../../printable.ts';
import type { Deadline } from '../deadline/budget.ts';
import { type OwnState, shutdownNames } from '../maintenance/shutdown-maintenance.ts';

/** How the agent came to know that the node goes down. */
export type Origin = 'logind' | 'unit-stop' | 'schedule' | 'trigger' | 'notice';

/** Who does the drain: the controller over the cluster's objects, or this agent from its record. */
export type DrainMode = 'cluster' | 'offline';

interface Shutdown {
  /** The name of the NodeMaintenance, in both modes. */
  readonly maintenance: string;
  /** Absent where it has always had this name. */
  readonly renamed?: Renamed;
  readonly mode: DrainMode;
  readonly origin: Origin;
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** The same in milliseconds since the boot, which no setting of the clock moves; absent in records of older agents. */
  readonly sinceBootMs?: number;
  readonly bootId: string;
  /** When the machine is gone; absent where nobody has said. It only gets earlier. */
  readonly deadline?: Deadline;
}

/** That the NodeMaintenance of a shutdown had to be made under another name. */
export interface Renamed {
  /** The names before. Manifests may be parked under them. */
  readonly from: readonly string[];
  /** How often it was because somebody had deleted it. */
  readonly deleted: number;
  /** When it was last, in milliseconds since the boot. */
  readonly sinceBootMs: number;
}

export type Phase =
  /** Nothing is going on; the lock is held. */
  | { readonly kind: 'watching' }
  /** The node goes down; the lock is held until its pods are gone. */
  | ({ readonly kind: 'draining' } & Shutdown)
  /** The pods are gone; the lock is released, the machine goes down. */
  | ({
      readonly kind: 'released';
      readonly releasedAt: number;
      /** The same in milliseconds since the boot; absent in records of older agents. */
      readonly releasedSinceBootMs?: number;
      /** Why the machine may go down although pods are left. */
      readonly forced?: string;
    } & Shutdown)
  /** The machine is back, or the shutdown was called off: what was taken away is put back. */
  | ({ readonly kind: 'recovering'; readonly cause: 'boot' | 'canceled' } & Shutdown);

/** What was read about the machine and the drain. */
export interface PhaseFacts {
  readonly now: number;
  /** Milliseconds since the boot, on a clock that nobody sets. */
  readonly sinceBootMs: number;
  readonly bootId: string;
  readonly nodeName: string;
  /** Whether the machine is going down; 'unknown' while nobody can be asked. */
  readonly goingDown:
    | { readonly kind: 'yes'; readonly origin: Origin; readonly reason: string; readonly deadline?: number }
    | { readonly kind: 'no' }
    | { readonly kind: 'unknown' };
  /** Whether there is a cluster to drain with. */
  readonly clusterConfigured: boolean;
  /** When this process began to ask the API server; a restarted agent asks anew. Milliseconds since the boot. */
  readonly askingSinceBootMs: number;
  /** How long the API server may take to accept the NodeMaintenance before the drain goes on locally, in ms. */
  readonly apiWaitMs: number;
  /** What became of the NodeMaintenance; once it is open, the cluster does the drain. */
  readonly maintenance: OwnState;
  /** Another name for it that nothing has; undefined where there is none. */
  readonly freeName: string | undefined;
  /** For how long the API server has not answered questions that it was asked, in milliseconds; 0 where it has. */
  readonly apiSilentMs: number;
  /** Whether the cluster has taken over what was reached locally. */
  readonly handedOver: boolean;
  readonly drained: boolean;
  /** Whether manifests cannot be moved, so that only this agent, with the kubelet stopped, can end their pods. */
  readonly manifestsStuck: boolean;
  /** Somebody wants the machine to wait no longer, and says why. */
  readonly release: string | undefined;
  /** For how long a shutdown is held at most, in milliseconds; undefined for as long as it takes. */
  readonly maxHoldMs: number | undefined;
  readonly recovered: boolean;
}

/** After the release the machine has so long to show that it goes down, before the shutdown counts as called off. */
const RELEASE_GRACE_MS = 60_000;
/** A reason has room in an Event, and in the NodeMaintenance that a node may make. */
const MAX_REASON = 1_024;
/** Who deletes it more often than that, in one shutdown, does not want the cluster to do the drain. */
const MAX_DELETED = 3;

/** Whether the NodeMaintenance of the shutdown has, or had, this name. */
export function isNamed({ maintenance, renamed }: Shutdown, name: string): boolean {
  return name === maintenance || renamed?.from.includes(name) === true;
}

/** Whether the cluster may take a local drain over: not where somebody deletes what it would need for that. */
export function mayHandOver({ renamed }: Shutdown): boolean {
  return (renamed?.deleted ?? 0) <= MAX_DELETED;
}

/**
 * For how long the shutdown has been held, in milliseconds: over restarts of the agent, and whatever is done to the clock,
 * for a hold ends within one boot.
 */
function heldMs({ since, sinceBootMs }: Shutdown, facts: PhaseFacts): number {
  return sinceBootMs === undefined ? facts.now - since : facts.sinceBootMs - sinceBootMs;
}

type Released = Extract<Phase, { readonly kind: 'released' }>;

function released(phase: Shutdown, { now: releasedAt, sinceBootMs: releasedSinceBootMs }: PhaseFacts): Released {
  return { ...phase, kind: 'released', releasedAt, releasedSinceBootMs };
}

/** How long ago the machine was released, in milliseconds. */
function releasedMs({ releasedAt, releasedSinceBootMs }: Released, { now, sinceBootMs }: PhaseFacts): number {
  return releasedSinceBootMs === undefined ? now - releasedAt : sinceBootMs - releasedSinceBootMs;
}

/** Why the machine is to wait no longer although pods are left; undefined where it waits. */
function forcedRelease(shutdown: Shutdown, facts: PhaseFacts): string | undefined {
  const { release, maxHoldMs } = facts;
  if (release !== undefined) return release;
  if (facts.maintenance === 'completed') {
    return `somebody has completed the NodeMaintenance ${shutdown.maintenance}, which ends the drain`;
  }
  if (maxHoldMs === undefined || heldMs(shutdown, facts) < maxHoldMs) return undefined;
  return `it was held for ${maxHoldMs / 1000} s, the most that maxHoldSec allows`;
}

/** The drain of a shutdown that was seen just now; undefined where there is none. */
function beginDrain(facts: PhaseFacts): Phase | undefined {
  if (facts.goingDown.kind !== 'yes') return undefined;
  const { origin, deadline } = facts.goingDown;
  const reason = shortened(printable(facts.goingDown.reason), MAX_REASON);
  // Where all names are taken, the API server says so, and the drain goes on locally.
  const maintenance = facts.freeName ?? shutdownNames(facts.nodeName)[0] ?? '';
  const mode = facts.clusterConfigured ? 'cluster' : 'offline';
  const { now: since, sinceBootMs, bootId } = facts;
  return {
    kind: 'draining',
    ...({ maintenance, mode, origin, reason, since, sinceBootMs, bootId } as const),
    ...(deadline === undefined ? {} : { deadline: { at: deadline, since: facts.now } }),
  };
}

/** The earliest deadline that was ever told counts: what was shortened cannot be made longer again. */
function tightened<P extends Shutdown>(phase: P, { goingDown, now }: PhaseFacts): P {
  const told = goingDown.kind === 'yes' ? goingDown.deadline : undefined;
  return told === undefined || told >= (phase.deadline?.at ?? Infinity)
    ? phase
    : { ...phase, deadline: { at: told, since: now } };
}

/**
 * The shutdown with another name for its NodeMaintenance, where that is somebody else's or was deleted; the same where not.
 * One that is deleted again and again, as by a script, is not made for ever: the drain goes on without it.
 */
function renamed<P extends Shutdown>(phase: P, facts: PhaseFacts): P {
  const { maintenance: state, freeName, sinceBootMs } = facts;
  if ((state !== 'taken' && state !== 'deleted') || freeName === undefined || !mayHandOver(phase)) return phase;
  const deleted = (phase.renamed?.deleted ?? 0) + (state === 'deleted' ? 1 : 0);
  const from = [...(phase.renamed?.from ?? []), phase.maintenance];
  return { ...phase, maintenance: freeName, renamed: { from, deleted, sinceBootMs } };
}

/** The phase that follows, which is the same object where nothing changed. */
export function decidePhase(phase: Phase, facts: PhaseFacts): Phase {
  switch (phase.kind) {
    case 'watching':
      return beginDrain(facts) ?? phase;
    case 'draining': {
      if (phase.bootId !== facts.bootId) return { ...phase, kind: 'recovering', cause: 'boot' };
      if (facts.goingDown.kind === 'no') return { ...phase, kind: 'recovering', cause: 'canceled' };
      if (facts.drained) return released(phase, facts);
      const forced = forcedRelease(phase, facts);
      if (forced !== undefined) return { ...released(phase, facts), forced };
      const current = renamed(tightened(phase, facts), facts);
      if (current.maintenance !== phase.maintenance) {
        return mayHandOver(current) ? current : { ...current, mode: 'offline' };
      }
      const asked = [phase.sinceBootMs ?? 0, facts.askingSinceBootMs, phase.renamed?.sinceBootMs ?? 0];
      const tooLong = facts.sinceBootMs - Math.max(...asked) >= facts.apiWaitMs;
      const lost = facts.maintenance !== 'open' || facts.apiSilentMs >= facts.apiWaitMs;
      if (phase.mode === 'cluster' && ((tooLong && lost) || facts.manifestsStuck))
        return { ...current, mode: 'offline' };
      return phase.mode === 'offline' && facts.handedOver ? { ...current, mode: 'cluster' } : current;
    }
    case 'released': {
      const { releasedAt: _at, releasedSinceBootMs: _sinceBootMs, forced: _forced, ...shutdown } = phase;
      if (phase.bootId !== facts.bootId) return { ...shutdown, kind: 'recovering', cause: 'boot' };
      const waited = releasedMs(phase, facts) >= RELEASE_GRACE_MS;
      return facts.goingDown.kind === 'no' && waited ? { ...shutdown, kind: 'recovering', cause: 'canceled' } : phase;
    }
    case 'recovering':
      // What could not be put back yet must not keep the next shutdown from its drain.
      return beginDrain(facts) ?? (facts.recovered ? { kind: 'watching' } : phase);
  }
}

/** Whether the lock is to be held in this phase. */
export function holdsLock(phase: Phase): boolean {
  return phase.kind !== 'released';
}

/** The phase as one line for systemd's STATUS, the log and people. */
export function describePhase(phase: Phase): string {
  switch (phase.kind) {
    case 'watching':
      return 'waiting for a shutdown, lock held';
    case 'draining':
      return `shutdown held: draining the node (${phase.mode}, ${phase.maintenance})`;
    case 'released':
      return phase.forced === undefined
        ? `drained: the machine may go down (${phase.maintenance})`
        : `not drained, the machine may go down all the same: ${phase.forced} (${phase.maintenance})`;
    case 'recovering':
      return `putting back what ${phase.maintenance} took away (${phase.cause === 'boot' ? 'after the boot' : 'shutdown called off'})`;
  }
}
