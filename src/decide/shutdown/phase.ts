/**
 * The phases of the node agent and the facts that move them. A phase carries its data, so that the record of a phase on
 * disk is all that a restarted agent needs. The rules of the transitions are in transition.ts.
 */
import type { Deadline } from '../deadline/tiers.ts';
import type { OwnState } from '../maintenance/agent-names.ts';
import type { ShutdownKind } from './kind.ts';
import type { Stall, Stand } from './take-over.ts';

/** How the agent came to know that the node goes down. */
export type Origin = 'logind' | 'unit-stop' | 'schedule' | 'trigger' | 'notice';

/** Who called a shutdown off: root over the control socket, or somebody who told logind so (`shutdown -c`). */
export type Canceler = 'root' | 'logind';

/** Who drains the node: `cluster` over the objects of the API server, `offline` this agent alone from its record. */
type DrainMode = 'cluster' | 'offline';

/** A deadline, and whether a trigger named it; older records do not say that. */
export interface ShutdownDeadline extends Deadline {
  readonly of?: 'trigger';
  /** True for the end of the longest hold. Version 0.2.0 takes a record with another word in `of` for damaged. */
  readonly isHold?: true;
}

/** A shutdown of this node that the agent holds, released or recovers from. */
export interface Shutdown {
  /** The name of the NodeMaintenance, in both modes. */
  readonly maintenance: string;
  /** Absent where it has always had this name. */
  readonly renamed?: Renamed;
  readonly mode: DrainMode;
  readonly origin: Origin;
  readonly reason: string;
  /** Who called it off; absent where nobody did. In a drain it is a wish that the next decision fulfils. */
  readonly canceledBy?: Canceler;
  /** The process ID of the logind whose shutdown was called off: what it prepares counts no more. A restart of logind ends it. */
  readonly voidLogind?: number;
  /** The process ID of the logind that has named the shutdown while it prepares it; once it names none, somebody called it off. */
  readonly namedBy?: number;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** The same in milliseconds since the boot, which no setting of the clock moves; absent in records of older agents. */
  readonly sinceBootMs?: number;
  readonly bootId: string;
  /** When the machine will be gone; absent where no notice or command named a time. It gets later only if a trigger is taken back. */
  readonly deadline?: ShutdownDeadline;
  /** The deadline of a trigger that was taken back, in milliseconds since the epoch; the NodeMaintenance may still have it. */
  readonly withdrawnDeadline?: number;
  /** When somebody has completed the NodeMaintenance: the agent drains on alone for a short time. Absent where nobody has. */
  readonly completed?: { readonly sinceBootMs: number };
  /** Why the agent goes on without an API server that answers: what it refuses. Absent where it is not given up for that. */
  readonly refusal?: string;
  /** Absent where neither systemd nor logind has named it, and in records of older agents. */
  readonly shutdownKind?: ShutdownKind;
  /** How far the drain has come, as its NodeMaintenance said last; absent while the API server has not taken one. */
  readonly stand?: Stand;
}

/** The NodeMaintenance of a shutdown had to be created under another name. */
interface Renamed {
  /** The names before. Manifests may be parked under them. */
  readonly from: readonly string[];
  /** How often the reason was that the NodeMaintenance had been deleted. */
  readonly deleted: number;
  /** When the name last changed, in milliseconds since the boot. */
  readonly sinceBootMs: number;
}

export type Phase =
  /** No shutdown is known; the lock is held. */
  | { readonly kind: 'watching' }
  /** The node goes down; the lock is held until its pods are gone. */
  | ({ readonly kind: 'draining' } & Shutdown)
  /** The pods are gone, or are not waited for any more; the lock is released and the machine goes down. */
  | ({
      readonly kind: 'released';
      readonly releasedAt: number;
      /** The same in milliseconds since the boot; absent in records of older agents. */
      readonly releasedSinceBootMs?: number;
      /** Why the machine may go down although pods are left; absent where all pods ended. */
      readonly forced?: string;
    } & Shutdown)
  /** The machine is back, or the shutdown was called off: parked manifests, kubelet and cordon are put back. */
  | ({ readonly kind: 'recovering'; readonly cause: 'boot' | 'canceled' } & Shutdown);

/** What was read about the machine and the drain. */
export interface PhaseFacts {
  readonly now: number;
  /** Milliseconds since the boot, on the monotonic clock. */
  readonly sinceBootMs: number;
  readonly bootId: string;
  readonly nodeName: string;
  /** Whether the machine is going down; 'unknown' while logind, systemd or a notice source does not answer. */
  readonly goingDown:
    | {
        readonly kind: 'yes';
        readonly origin: Origin;
        readonly reason: string;
        /** Of a notice, in milliseconds since the epoch. */
        readonly deadline?: number;
        /** Of the trigger that applies, in milliseconds since the epoch. */
        readonly triggerDeadline?: number;
        readonly shutdownKind?: ShutdownKind;
        /** The process ID of the logind that prepares the shutdown and names it. */
        readonly namedBy?: number;
      }
    // With the process ID of a logind that still prepares what was called off.
    | { readonly kind: 'no'; readonly voidLogind?: number }
    | { readonly kind: 'unknown' };
  readonly clusterConfigured: boolean;
  /**
   * When this process first asked the API server for the NodeMaintenance of this shutdown, in milliseconds since the boot;
   * undefined before, as while hooks run. A restarted agent starts again.
   */
  readonly askedSinceBootMs: number | undefined;
  /** How long the API server may take to accept the NodeMaintenance before the drain goes on offline, in milliseconds. */
  readonly apiWaitMs: number;
  /** How long a drain may then get no further in the cluster before the agent goes on by itself, in milliseconds. */
  readonly progressWaitMs: number;
  /** What became of the NodeMaintenance; once it is open, the cluster does the drain. */
  readonly maintenance: OwnState;
  /** Another name for it that nothing has; undefined where there is none. */
  readonly freeName: string | undefined;
  /** How the drain gets no further with the API server; undefined where it does. */
  readonly stall: Stall | undefined;
  readonly stand: Stand;
  /** For how long the API server has said that the node has no Node object, in milliseconds; 0 where it has one. */
  readonly nodeGoneMs: number;
  /** Whether the cluster has taken over what the offline drain reached. */
  readonly handedOver: boolean;
  /** Whether it is about to: whoever cannot be ended without it is waited for. */
  readonly handingOver: boolean;
  /** Whether the last pass over the pods, which was made in this phase, found nothing left to wait for. */
  readonly drained: boolean;
  /** Why pods are left that this agent cannot end before the machine goes down; undefined where none is. */
  readonly left: string | undefined;
  /** Why it can end them alone, without the cluster; undefined where it cannot. */
  readonly endsAlone: string | undefined;
  /**
   * The pods that the container runtime still ran in the last pass, as NAMESPACE/NAME. Known only after somebody has completed
   * the NodeMaintenance, and only where the runtime has answered.
   */
  readonly running: readonly string[] | undefined;
  /** What the machine waits for, as the status names it; absent where that is nothing. */
  readonly waitingFor?: readonly string[];
  /** Whether manifests cannot be moved, so that only this agent, with the kubelet stopped, can end their pods. */
  readonly manifestsStuck: boolean;
  /** The reason that an operator gave with `nodemaint release`; undefined without such a command. */
  readonly release: string | undefined;
  /** For how long a shutdown is held at most, in milliseconds; undefined for as long as the drain takes. */
  readonly maxHoldMs: number | undefined;
  /**
   * Whether the last pass over the pods, which was made in this phase, found nothing left to put back, and the NodeMaintenance
   * of a shutdown that was called off is complete.
   */
  readonly recovered: boolean;
}

/** A NodeMaintenance that was deleted this often is made again at once; then after a time that doubles, up to the longest. */
const DELETED_AT_ONCE = 3;
const REMAKE_PAUSE_MS = 15_000;
const LONGEST_REMAKE_PAUSE_MS = 300_000;

/** When a NodeMaintenance that was deleted, or whose name is taken, is to be made again, in milliseconds since the boot. */
export function remakeAt({ renamed }: Pick<Shutdown, 'renamed'>): number {
  const { deleted = 0, sinceBootMs = 0 } = renamed ?? {};
  const pause = deleted <= DELETED_AT_ONCE ? 0 : REMAKE_PAUSE_MS * 2 ** (deleted - DELETED_AT_ONCE - 1);
  return sinceBootMs + Math.min(pause, LONGEST_REMAKE_PAUSE_MS);
}

/** Whether the NodeMaintenance of the shutdown has, or had, this name. */
export function isNamed({ maintenance, renamed }: Shutdown, name: string): boolean {
  return name === maintenance || renamed?.from.includes(name) === true;
}

/** Whether the cluster may take an offline drain over: not where its NodeMaintenance was completed, or it refuses the drain. */
export function mayHandOver({ refusal, completed }: Pick<Shutdown, 'refusal' | 'completed'>): boolean {
  return completed === undefined && refusal === undefined;
}

/** Whether the shutdown lock is held in this phase. */
export function holdsLock(phase: Phase): boolean {
  return phase.kind !== 'released';
}

function whyOffline({ completed, refusal }: Shutdown): string {
  if (completed !== undefined) return ', which somebody has completed';
  return refusal === undefined ? '' : `; ${refusal}`;
}

/** Who called the shutdown off, as the end of a sentence; empty where nobody did. */
export function canceler({ canceledBy }: Pick<Shutdown, 'canceledBy'>): string {
  if (canceledBy === undefined) return '';
  if (canceledBy === 'logind') return ', logind does not prepare it any more';
  return ' by root';
}

/** The phase as one line for systemd's STATUS, the log and people. */
export function describePhase(phase: Phase): string {
  switch (phase.kind) {
    case 'watching':
      return 'waiting for a shutdown';
    case 'draining':
      return `shutdown held: draining the node (${phase.mode}, ${phase.maintenance}${whyOffline(phase)})`;
    case 'released':
      return phase.forced === undefined
        ? `drained: the machine may go down (${phase.maintenance})`
        : `not drained, the machine may go down all the same: ${phase.forced} (${phase.maintenance})`;
    case 'recovering':
      return `putting back what ${phase.maintenance} took away (${phase.cause === 'boot' ? 'after the boot' : `shutdown called off${canceler(phase)}`})`;
  }
}
