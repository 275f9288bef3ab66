import type { LastShutdown } from '../../decide/presence/last-shutdown.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import type { Waiting } from '../../decide/node/waits.ts';

/** What `nodemaint status` shows of this node's agent. */
export interface AgentStatus {
  readonly node: string;
  readonly phase: Phase;
  readonly summary: string;
  /** Milliseconds since the epoch; absent of older agents. */
  readonly phaseSince?: number;
  readonly lock: {
    readonly kind: string;
    readonly held: boolean;
    readonly message: string;
    /** For how long logind lets a lock delay a shutdown, and the file that says so; absent where it was not asked. */
    readonly delay?: { readonly limitMs: number; readonly file?: string; readonly problem?: string };
    /** After how long without a sign of life of the agent the lock goes by itself, in milliseconds. */
    readonly deadManMs?: number;
    /** Whose locks delay the shutdown that is held or was released, beside the agent's; older agents do not tell. */
    readonly others?: readonly string[];
  };
  /** A shutdown that is scheduled for later, in milliseconds since the epoch. */
  readonly scheduled: { readonly kind: string; readonly at: number } | null;
  /** Of a node without a cluster, all but the first is absent. */
  readonly cluster: {
    readonly configured: boolean;
    readonly server?: string;
    /** When the API server answered last, in milliseconds since the epoch; absent where it has not. */
    readonly heardAt?: number;
    /** Why the last request was not answered; absent where it was. */
    readonly problem?: string;
  };
  /** Whether a controller lives; absent while this agent does not have to know. */
  readonly controller?: { readonly state: 'alive' | 'dead' | 'idle' | 'unknown'; readonly silentMs: number };
  /** The message is absent where its status says nothing of this node. */
  readonly maintenance: { readonly name: string; readonly message?: string } | null;
  /** How the last shutdown ended; absent where none has, as far as the agent knows. */
  readonly lastShutdown?: LastShutdown;
  readonly waitingFor: readonly Waiting[];
  readonly inPlace: readonly string[];
  readonly parked: readonly string[];
  /** What of the agent's memory cannot be written or read, for people; absent while all is well. */
  readonly storageProblem?: string;
  /** What is wrong with the set-up of this node, for people. */
  readonly warnings: readonly string[];
  readonly startedAt: number;
}
