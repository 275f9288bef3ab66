/**
 * The phases of the node agent. States carry their data, so that a record of one on disk is all a restarted agent
 * needs; transitions are decided from facts that were read, never from signals that may have been lost.
 */
import type { Deadline } from './deadline.ts';

/** How the agent came to know that the node goes down. */
export type Origin = 'logind' | 'unit-stop' | 'schedule' | 'trigger' | 'notice';

/** Who does the drain: the controller over the cluster's objects, or this agent from its record. */
export type DrainMode = 'cluster' | 'local';

interface Shutdown {
  /** The name of the NodeMaintenance, in both modes. */
  readonly maintenance: string;
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

export type Phase =
  /** Nothing is going on; the lock is held. */
  | { readonly kind: 'watching' }
  /** The node goes down; the lock is held until its pods are gone. */
  | ({ readonly kind: 'draining' } & Shutdown)
  /** The pods are gone; the lock is released, the machine goes down. */
  | ({
      readonly kind: 'released';
      readonly releasedAt: number;
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
  /** When this process began to ask the API server; a restarted agent asks anew. Milliseconds since the epoch. */
  readonly askingSince: number;
  /** How long the API server may take to accept the NodeMaintenance before the drain goes on locally, in ms. */
  readonly apiWaitMs: number;
  /** Whether the NodeMaintenance exists already: from then on the cluster does the drain. */
  readonly maintenanceExists: boolean;
  /** For how long the API server has not answered questions that it was asked, in milliseconds; 0 where it has. */
  readonly apiSilentMs: number;
  /** Whether the cluster has taken over what was reached locally. */
  readonly handedOver: boolean;
  readonly drained: boolean;
  /** Somebody wants the machine to wait no longer, and says why. */
  readonly release: string | undefined;
  /** For how long a shutdown is held at most, in milliseconds; undefined for as long as it takes. */
  readonly maxHoldMs: number | undefined;
  readonly recovered: boolean;
}

/** After the release the machine has so long to show that it goes down, before the shutdown counts as called off. */
const RELEASE_GRACE_MS = 60_000;
const MAX_NAME_LENGTH = 253;

/** The name of the maintenance of one shutdown: the node, and the second at which it was seen. */
export function maintenanceName(nodeName: string, since: number): string {
  const stamp = Math.floor(since / 1000).toString(36);
  return `shutdown-${nodeName.slice(0, MAX_NAME_LENGTH - stamp.length - 10)}-${stamp}`;
}

/**
 * For how long the shutdown has been held, in milliseconds: over restarts of the agent, and whatever is done to the clock,
 * for a hold ends within one boot.
 */
function heldMs({ since, sinceBootMs }: Shutdown, facts: PhaseFacts): number {
  return sinceBootMs === undefined ? facts.now - since : facts.sinceBootMs - sinceBootMs;
}

/** Why the machine is to wait no longer although pods are left; undefined where it waits. */
function forcedRelease(shutdown: Shutdown, facts: PhaseFacts): string | undefined {
  const { release, maxHoldMs } = facts;
  if (release !== undefined) return release;
  if (maxHoldMs === undefined || heldMs(shutdown, facts) < maxHoldMs) return undefined;
  return `it was held for ${maxHoldMs / 1000} s, the most that maxHoldSec allows`;
}

/** The drain of a shutdown that was seen just now; undefined where there is none. */
function beginDrain(facts: PhaseFacts): Phase | undefined {
  if (facts.goingDown.kind !== 'yes') return undefined;
  const { origin, reason, deadline } = facts.goingDown;
  const maintenance = maintenanceName(facts.nodeName, facts.now);
  const mode = facts.clusterConfigured ? 'cluster' : 'local';
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

/** The phase that follows, which is the same object where nothing changed. */
export function decidePhase(phase: Phase, facts: PhaseFacts): Phase {
  switch (phase.kind) {
    case 'watching':
      return beginDrain(facts) ?? phase;
    case 'draining': {
      if (phase.bootId !== facts.bootId) return { ...phase, kind: 'recovering', cause: 'boot' };
      if (facts.goingDown.kind === 'no') return { ...phase, kind: 'recovering', cause: 'canceled' };
      if (facts.drained) return { ...phase, kind: 'released', releasedAt: facts.now };
      const forced = forcedRelease(phase, facts);
      if (forced !== undefined) return { ...phase, kind: 'released', releasedAt: facts.now, forced };
      const tooLong = facts.now - Math.max(phase.since, facts.askingSince) >= facts.apiWaitMs;
      const current = tightened(phase, facts);
      const lost = !facts.maintenanceExists || facts.apiSilentMs >= facts.apiWaitMs;
      if (phase.mode === 'cluster' && tooLong && lost) return { ...current, mode: 'local' };
      return phase.mode === 'local' && facts.handedOver ? { ...current, mode: 'cluster' } : current;
    }
    case 'released': {
      const { releasedAt, forced: _forced, ...shutdown } = phase;
      if (phase.bootId !== facts.bootId) return { ...shutdown, kind: 'recovering', cause: 'boot' };
      const waited = facts.now - releasedAt >= RELEASE_GRACE_MS;
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
