import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { phaseEventOf, type PhaseEvent } from '../../decide/shutdown/events.ts';
import { describePhase, type Phase, type PhaseFacts, type Shutdown } from '../../decide/shutdown/phase.ts';
import { lastShutdownAfter } from '../../decide/presence/last-shutdown.ts';
import { decidePhase, type Transition } from '../../decide/shutdown/transition.ts';
import { NodemaintError } from '../../errors.ts';
import type { StateFiles } from '../../host/files/state-files.ts';
import type { Log } from '../../telemetry/log.ts';
import { type AgentRecord, writeRecord } from './record.ts';

/** Who calls a shutdown off, and the logind that prepares it, where one does. */
export type CallingOff = Pick<Shutdown, 'canceledBy' | 'voidLogind'>;

/** Keeps the record of the phase and moves it. */
export interface PhaseMachine {
  readonly record: () => AgentRecord;
  /** When this process last changed the phase, in milliseconds since the epoch; undefined where it has not. */
  readonly changedAt: () => number | undefined;
  /** Reads the facts, decides what happens to the phase, and makes that durable and known; undefined where it stays. */
  readonly decide: (signal: AbortSignal) => Promise<Transition | undefined>;
  /** Ends the drain with the next decision. Throws USAGE where no shutdown is held. */
  readonly release: (reason: string) => void;
  /**
   * Makes durable that somebody called off the shutdown of this phase; the next decision follows. False where the phase is
   * another one meanwhile, and nothing was written.
   */
  readonly callOff: (shutdown: Phase, wish: CallingOff) => Promise<boolean>;
  /** Makes the targets of an offline drain durable. */
  readonly saveTargets: (offlineTargets: readonly DrainPlanEntry[]) => Promise<void>;
}

interface PhaseMachineDependencies {
  readonly nodeName: string;
  readonly state: StateFiles;
  readonly log: Pick<Log, 'info'>;
  readonly readFacts: (phase: Phase, signal: AbortSignal) => Promise<Omit<PhaseFacts, 'release'>>;
  readonly announce: (event: PhaseEvent) => void;
}

/** Starts with the record that was read from the disk. */
export function createPhaseMachine(dependencies: PhaseMachineDependencies, initial: AgentRecord): PhaseMachine {
  const { nodeName, state, log, readFacts, announce } = dependencies;
  /** `release` is an operator's reason to end this drain; the transition that follows takes it away. */
  let current: { readonly record: AgentRecord; readonly release?: string } = { record: initial };

  let changedAt: number | undefined;
  const save = async (record: AgentRecord): Promise<void> => {
    // What is in memory applies at once: a disk that does not take the record must not keep a shutdown from going on.
    current = { ...current, record };
    await writeRecord(state, record);
  };

  return {
    record: () => current.record,
    changedAt: () => changedAt,
    decide: async (signal) => {
      const facts = await readFacts(current.record.phase, signal);
      const { phase, offlineTargets, last: before } = current.record;
      const transition = decidePhase(phase, { ...facts, release: current.release });
      if (transition === undefined) return undefined;
      const { name, to } = transition;
      const keepsTargets = to.kind === 'draining' || to.kind === 'released';
      current = { record: current.record };
      changedAt = facts.now;
      const last = lastShutdownAfter(before, transition, facts.now);
      const targets = keepsTargets ? offlineTargets : [];
      await save({ phase: to, offlineTargets: targets, ...(last === undefined ? {} : { last }) });
      log.info({ transition: name, phase: to }, describePhase(to));
      const event = phaseEventOf(nodeName, transition);
      if (event !== undefined) announce(event);
      return transition;
    },
    release: (reason) => {
      const { phase } = current.record;
      if (phase.kind === 'released') return;
      if (phase.kind !== 'draining') {
        throw new NodemaintError('USAGE', `no shutdown is held on this node: ${describePhase(phase)}`);
      }
      current = { ...current, release: reason };
    },
    callOff: async (shutdown, wish) => {
      const { phase } = current.record;
      if (phase !== shutdown || (phase.kind !== 'draining' && phase.kind !== 'released')) return false;
      await save({ ...current.record, phase: { ...phase, ...wish } });
      return true;
    },
    saveTargets: (offlineTargets) => save({ ...current.record, offlineTargets }),
  };
}
