import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { freePort } from '../control-plane/port.ts';
import { type Program, startProgram } from '../control-plane/process.ts';
import { startRelay } from './machine/relay.ts';
import { CHECKOUT } from './product.ts';

/** A replica of the controller, and where it serves its metrics. */
interface Replica {
  readonly program: Program;
  readonly url: string;
}

/** The replicas of the controller, which histories start and end. Several histories share them. */
export interface Replicas extends AsyncDisposable {
  /** Starts one more, up to two. */
  start(): Promise<string>;
  /** Ends the oldest by SIGKILL. */
  kill(): Promise<string>;
  /** Ends the oldest by SIGTERM. */
  stop(): Promise<string>;
  /** Cuts all of them off the API server for `ms`. */
  cutOff(ms: number): Promise<void>;
  /** Sets the wall clock of all of them so many milliseconds ahead of the true time. */
  setClock(ms: number): Promise<void>;
  /** Starts one where there is none, and waits until one has led for `forMs`. */
  settle(forMs: number, timeoutMs: number): Promise<boolean>;
  /** How often those that run now have lost the Lease. */
  losses(): Promise<number>;
}

/** Quick, but not so quick that a busy machine loses the Lease. */
const ELECTION = [
  '--leader-elect-lease-duration=4s',
  '--leader-elect-renew-deadline=3s',
  '--leader-elect-retry-period=400ms',
] as const;
const MAX = 2;
const LEADS = /^leader_election_master_status\{[^}]*\} 1$/m;

async function leads({ url }: Replica): Promise<boolean> {
  const text = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(1_000) }).then(
    (answer) => answer.text(),
    () => '',
  );
  return LEADS.test(text);
}

const CLOCK = path.join(import.meta.dirname, 'machine', 'shifted-clock.ts');

const MAIN = path.join(CHECKOUT, 'src', 'main.ts');

/** Makes the set, which is empty. */
export async function createReplicas(controlPlane: ControlPlane, controllerKubeconfig: string): Promise<Replicas> {
  const relay = await startRelay(controllerKubeconfig);
  const { kubeconfig } = relay;
  const clockFile = path.join(controlPlane.folder, 'clock');
  await writeFile(clockFile, '0');
  const running: Replica[] = [];
  let changedAt = Date.now();
  let count = 0;

  const start = async (): Promise<string> => {
    if (running.length >= MAX) return 'two run already';
    count += 1;
    changedAt = Date.now();
    const address = `127.0.0.1:${await freePort()}`;
    const log = path.join(controlPlane.logs, `controller-${count}.log`);
    const args = ['controller', '--kubeconfig', kubeconfig, '--metrics-address', address, ...ELECTION];
    const command = [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      '--import',
      CLOCK,
      MAIN,
      ...args,
    ] as const;
    running.push({ program: startProgram(command, log, { CHAOS_CLOCK: clockFile }), url: `http://${address}` });
    return `controller-${count} started`;
  };
  const end = async (how: 'kill' | 'stop'): Promise<string> => {
    const oldest = running.shift();
    if (oldest === undefined) return 'none runs';
    changedAt = Date.now();
    if (how === 'kill') await oldest.program.stop(0);
    else await oldest.program.stop();
    return 'ended';
  };

  return {
    start,
    kill: () => end('kill'),
    stop: () => end('stop'),
    settle: async (forMs, timeoutMs) => {
      const deadline = Date.now() + timeoutMs;
      let since: number | undefined;
      while (Date.now() < deadline) {
        for (const replica of running) if (replica.program.exited()) running.splice(running.indexOf(replica), 1);
        if (running.length === 0) await start();
        const isLed = (await Promise.all(running.map(leads))).some(Boolean);
        // A leader that is seen for the first time may have begun just now.
        since = isLed ? (since ?? Date.now()) : undefined;
        if (since !== undefined && Date.now() - Math.max(since, changedAt) >= forMs) return true;
        await sleep(100);
      }
      return false;
    },
    losses: async () => {
      const logs = await Promise.all(running.map((replica) => readFile(replica.program.logFile, 'utf8')));
      return logs.join('').split('lost the lease').length - 1;
    },
    cutOff: (ms) => relay.cut(ms),
    setClock: (ms) => writeFile(clockFile, String(ms)),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map((replica) => replica.program.stop()));
      await relay[Symbol.asyncDispose]();
    },
  };
}
