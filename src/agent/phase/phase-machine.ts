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

interface PhaseMachineDependencies {
  readonly nodeName: string;
  readonly state: StateFiles;
  readonly log: Pick<Log, 'info'>;
  readonly announce: (event: PhaseEvent) => void;
}

/** Keeps the record of the phase and moves it. */
export class PhaseMachine {
  readonly #dependencies: PhaseMachineDependencies;
  #record: AgentRecord;
  /** An operator's reason to end this drain; the transition that follows takes it away. */
  #release: string | undefined;
  #changedAt: number | undefined;

  /** Starts with the record that was read from the disk. */
  constructor(dependencies: PhaseMachineDependencies, initial: AgentRecord) {
    this.#dependencies = dependencies;
    this.#record = initial;
  }

  get record(): AgentRecord {
    return this.#record;
  }

  /** When this process last changed the phase, in milliseconds since the epoch; undefined where it has not. */
  get changedAt(): number | undefined {
    return this.#changedAt;
  }

  /** Decides what happens to the phase, and makes that durable and known; undefined where it stays. */
  async decide(facts: Omit<PhaseFacts, 'release'>): Promise<Transition | undefined> {
    const { nodeName, log, announce } = this.#dependencies;
    const { phase, offlineTargets, last: before } = this.record;
    const transition = decidePhase(phase, { ...facts, release: this.#release });
    if (transition === undefined) return undefined;
    const { name, to } = transition;
    const keepsTargets = to.kind === 'draining' || to.kind === 'released';
    this.#release = undefined;
    this.#changedAt = facts.now;
    const last = lastShutdownAfter(before, transition, facts.now);
    const targets = keepsTargets ? offlineTargets : [];
    await this.#save({ phase: to, offlineTargets: targets, ...(last === undefined ? {} : { last }) });
    log.info({ transition: name, phase: to }, describePhase(to));
    const event = phaseEventOf(nodeName, transition);
    if (event !== undefined) announce(event);
    return transition;
  }

  /** Ends the drain with the next decision. Throws USAGE where no shutdown is held. */
  release(reason: string): void {
    const { phase } = this.record;
    if (phase.kind === 'released') return;
    if (phase.kind !== 'draining') {
      throw new NodemaintError('USAGE', `no shutdown is held on this node: ${describePhase(phase)}`);
    }
    this.#release = reason;
  }

  /**
   * Makes durable that somebody called off the shutdown of this phase; the next decision follows. False where the phase is
   * another one meanwhile, and nothing was written.
   */
  async callOff(shutdown: Phase, wish: CallingOff): Promise<boolean> {
    const { phase } = this.record;
    if (phase !== shutdown || (phase.kind !== 'draining' && phase.kind !== 'released')) return false;
    await this.#save({ ...this.record, phase: { ...phase, ...wish } });
    return true;
  }

  /** Makes the targets of an offline drain durable. */
  async saveTargets(offlineTargets: readonly DrainPlanEntry[]): Promise<void> {
    await this.#save({ ...this.record, offlineTargets });
  }

  async #save(record: AgentRecord): Promise<void> {
    // What is in memory applies at once: a disk that does not take the record must not keep a shutdown from going on.
    this.#record = record;
    await writeRecord(this.#dependencies.state, record);
  }
}
