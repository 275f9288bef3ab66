import assert from 'node:assert/strict';
import { ShutdownDetector } from '../../../src/agent/shutdown/detector.ts';
import type { ScheduledShutdown, ShutdownRequester } from '../../../src/decide/shutdown/detection.ts';
import type { ShutdownKind } from '../../../src/decide/shutdown/kind.ts';
import type { PhaseFacts, Shutdown } from '../../../src/decide/shutdown/phase.ts';
import type { Trigger } from '../../../src/decide/shutdown/trigger.ts';
import type { Login1 } from '../../../src/host/systemd/logind.ts';
import type { Systemd } from '../../../src/host/systemd/manager.ts';
import { createSteppingClock, type SteppingClock } from '../stand-ins/stepping-clock.ts';
import { createRecordingLog, type RecordingLog } from './recording-log.ts';

export const SIGNAL = AbortSignal.timeout(60_000);
export const LEAD_MS = 60_000;
export const BY_ROOT: ShutdownRequester = { kind: 'reboot', uid: 0, tty: 'pts/1', wall: 'new kernel' };

/** What logind and systemd answer; an Error is thrown. */
interface Machine {
  processId: number | undefined;
  preparing: boolean | Error;
  scheduled: ScheduledShutdown | null;
  requester: ShutdownRequester | Error;
  stopping: boolean;
  queued: ShutdownKind | undefined;
  state: string | Error;
  /** Whether requests for a shutdown and restarts of units fail. */
  requestFails: boolean;
}

type Held = Pick<Shutdown, 'voidLogind' | 'namedBy'>;

/** A machine, and its detector as it is used in a turn of the agent. */
export interface DetectorRig {
  readonly machine: Machine;
  readonly detector: ShutdownDetector;
  readonly clock: SteppingClock;
  readonly log: RecordingLog;
  /** The calls that change the machine. */
  readonly acts: readonly string[];
  /** Reads as a turn of the agent does, without the step that restores. */
  read(held?: Held): Promise<PhaseFacts['goingDown']>;
  /** Reads, and restores what is lost; a failure is logged by the runner of the steps. */
  turn(held?: Held): Promise<PhaseFacts['goingDown']>;
}

function answer<T>(value: T | Error): Promise<T> {
  return value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
}

/** A detector on a machine that stays up, whose answers the test changes. */
export function createDetectorRig(triggered?: Trigger): DetectorRig {
  const machine: Machine = {
    processId: 100,
    preparing: false,
    scheduled: null,
    requester: {},
    stopping: false,
    queued: undefined,
    state: 'running',
    requestFails: false,
  };
  const acts: string[] = [];
  const login1: Partial<Login1> = {
    processId: () => answer(machine.processId),
    preparingForShutdown: () => answer(machine.preparing),
    scheduledShutdown: () => answer(machine.scheduled),
    shutdownRequester: () => answer(machine.requester),
    request: (kind) => {
      acts.push(`request ${kind}`);
      if (machine.requestFails) return Promise.reject(new Error('not now'));
      machine.preparing = true;
      return Promise.resolve();
    },
    cancelScheduled: () => {
      acts.push('cancel what is scheduled');
      machine.scheduled = null;
      return Promise.resolve();
    },
  };
  const systemd: Partial<Systemd> = {
    isGoingDown: () => answer(machine.stopping),
    queuedShutdown: () => answer(machine.queued),
    systemState: () => answer(machine.state),
    restartUnit: (name) => {
      acts.push(`restart ${name}`);
      if (machine.requestFails) return Promise.reject(new Error('not now'));
      return Promise.resolve();
    },
  };
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const host = { login1: login1 as Login1, systemd: systemd as Systemd };
  const detector = new ShutdownDetector({ host, triggered, leadMs: LEAD_MS, clock, log });
  const read = (held: Held = {}) => detector.read(held, SIGNAL);
  const turn = async (held: Held = {}): Promise<PhaseFacts['goingDown']> => {
    const found = await read(held);
    await detector.restore(SIGNAL).catch(() => undefined);
    return found;
  };
  return { machine, detector, clock, log, acts, read, turn };
}

/** A rig whose logind prepares a reboot and has been read once. */
export async function createPreparing(): Promise<DetectorRig> {
  const rig = createDetectorRig();
  rig.machine.preparing = true;
  rig.machine.requester = BY_ROOT;
  assert.equal((await rig.read()).kind, 'yes');
  return rig;
}
