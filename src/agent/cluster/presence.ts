import { AGENT_STATUS_ANNOTATION } from '../../api/names.ts';
import {
  type DoctorReport,
  type Presence,
  presenceDueMs,
  PRESENCE_EVERY_MS,
  presenceText,
  type PresenceWrite,
} from '../../decide/presence/presence.ts';
import { rfc3339 } from '../../decide/time.ts';
import { describeError } from '../../errors.ts';
import { NODES, objectPath } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import { createWarnOnce, type LogOnce } from '../../telemetry/log-once.ts';
import { buildVersion } from '../../version.ts';
import { createWakeup, type Wakeup } from '../iteration/wakeup.ts';
import type { ClusterDependencies } from './dependencies.ts';

/** What the agent's loop knows of itself. */
export type PresenceFacts = Pick<Presence, 'phase' | 'lock' | 'reason' | 'last' | 'carriers'>;

/** What is said on the Node beside what the loop knows. */
export interface PresenceSources {
  /** Runs the checks of `nodemaint doctor`; it may reject. */
  readonly readDoctor: (signal: AbortSignal) => Promise<DoctorReport>;
  /** The hash of the configuration. */
  readonly config: string;
}

const NOT_CHECKED: DoctorReport = { doctor: 'unknown', checks: [] };

/** An agent that ends so soon after its start, again and again, does not write. */
const FIRST_AFTER_MS = 5_000;
const WRITE_MS = 10_000;
const LAST_WRITE_MS = 1_000;
/** The checks run once the agent has settled, and then as often as the presence is written. */
const DOCTOR_AFTER_MS = 60_000;
/** A check that fails is mended by a person, who looks whether the node is guarded then. */
const DOCTOR_AGAIN_MS = 5 * 60_000;

/** Says on the Node object of this machine that its agent is there, and how it is. */
export class AgentPresence {
  readonly #dependencies: ClusterDependencies;
  readonly #sources: PresenceSources;
  readonly #wakeup: Wakeup;
  readonly #warnOnce: LogOnce;
  readonly #warnOfChecksOnce: LogOnce;
  #facts: PresenceFacts | undefined;
  /** Milliseconds since the epoch. */
  #phaseSince = 0;
  #lockSince = 0;
  #report = NOT_CHECKED;
  #last: PresenceWrite | undefined;

  constructor(dependencies: ClusterDependencies, sources: PresenceSources) {
    this.#dependencies = dependencies;
    this.#sources = sources;
    this.#wakeup = createWakeup(dependencies.clock);
    this.#warnOnce = createWarnOnce(dependencies.log, 'cannot write the state of the agent onto its Node');
    this.#warnOfChecksOnce = createWarnOnce(dependencies.log, 'cannot run the checks of nodemaint doctor');
  }

  /** Takes what the loop knows; never waits, never throws. */
  show(facts: PresenceFacts): void {
    const before = this.#facts;
    if (JSON.stringify(before) === JSON.stringify(facts)) return;
    const now = this.#dependencies.clock.now();
    if (facts.phase !== before?.phase) this.#phaseSince = now;
    if (facts.lock !== before?.lock) this.#lockSince = now;
    this.#facts = facts;
    this.#wakeup.notify();
  }

  /** Writes until `signal` is aborted; then that the agent has ended, unless the machine goes down. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    // Both end with the signal, which ends their sleep.
    await Promise.allSettled([this.#runDoctor(signal), this.#runWrites(signal)]);
    await this.#writeEnd();
  }

  #presenceOf(facts: PresenceFacts, phase: Presence['phase']): Presence {
    return {
      ...facts,
      version: buildVersion(),
      phase,
      phaseSince: rfc3339(this.#phaseSince),
      lockSince: rfc3339(this.#lockSince),
      config: this.#sources.config,
      ...this.#report,
    };
  }

  async #write(presence: Presence, signal: AbortSignal): Promise<void> {
    const { client, clock, nodeName } = this.#dependencies;
    const at = clock.monotonic();
    const text = presenceText(presence, rfc3339(clock.now()));
    const body = { metadata: { annotations: { [AGENT_STATUS_ANNOTATION]: text } } };
    const path = objectPath(NODES, { name: nodeName });
    const request = { method: 'PATCH', path, body, patch: { kind: 'merge' }, answer: 'metadata' } as const;
    try {
      // 404: the node is not registered yet, or is no more.
      const written = await sendForObject(client, request, [404], signal);
      this.#last = { presence, at, succeeded: written !== undefined };
      this.#warnOnce(undefined);
    } catch (error) {
      this.#last = { presence, at, succeeded: false };
      if (!signal.aborted) this.#warnOnce(describeError(error));
    }
  }

  /** Says that the agent has ended, where that is news and the API server answered the last time. */
  async #writeEnd(): Promise<void> {
    const facts = this.#facts;
    if (facts === undefined || this.#last?.succeeded !== true) return;
    if (facts.phase !== 'watching' && facts.phase !== 'recovering') return;
    await this.#write(this.#presenceOf(facts, 'stopped'), AbortSignal.timeout(LAST_WRITE_MS));
  }

  /** What the checks say; where they cannot be run, that is logged, and they count as not run. */
  async #readDoctor(signal: AbortSignal): Promise<DoctorReport> {
    try {
      const report = await this.#sources.readDoctor(signal);
      this.#warnOfChecksOnce(undefined);
      return report;
    } catch (error) {
      if (!signal.aborted) this.#warnOfChecksOnce(describeError(error));
      return NOT_CHECKED;
    }
  }

  async #runDoctor(signal: AbortSignal): Promise<void> {
    const { clock } = this.#dependencies;
    await clock.sleep(DOCTOR_AFTER_MS, signal);
    while (!signal.aborted) {
      // Not while the machine goes down: the checks would only take time from the drain.
      if (this.#facts?.phase === 'watching') {
        this.#report = await this.#readDoctor(signal);
        this.#wakeup.notify();
      }
      const isWell = this.#report.doctor === 'ok' || this.#report.doctor === 'warn';
      await clock.sleep(isWell ? PRESENCE_EVERY_MS : DOCTOR_AGAIN_MS, signal);
    }
  }

  async #runWrites(signal: AbortSignal): Promise<void> {
    const { clock, nodeName } = this.#dependencies;
    await clock.sleep(FIRST_AFTER_MS, signal);
    while (!signal.aborted) {
      const presence = this.#facts && this.#presenceOf(this.#facts, this.#facts.phase);
      const now = clock.monotonic();
      const dueMs = presence === undefined ? PRESENCE_EVERY_MS : presenceDueMs(this.#last, presence, nodeName, now);
      if (presence === undefined || dueMs > 0) await this.#wakeup.wait(dueMs, signal);
      else await this.#write(presence, AbortSignal.any([signal, AbortSignal.timeout(WRITE_MS)]));
    }
  }
}
