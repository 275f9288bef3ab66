import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { freePort } from '../control-plane/port.ts';
import type { Program } from '../control-plane/process.ts';
import { startNodemaint } from '../support/commands/nodemaint.ts';
import { QUICK_ELECTION } from '../support/rigs/leader.ts';

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
  /** Starts one where there is none, and waits until one has led for `forMs`. */
  settle(forMs: number, timeoutMs: number): Promise<boolean>;
}

const MAX = 2;
const LEADS = /^leader_election_master_status\{[^}]*\} 1$/m;

async function leads({ url }: Replica): Promise<boolean> {
  const text = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(1_000) }).then(
    (answer) => answer.text(),
    () => '',
  );
  return LEADS.test(text);
}

/** Makes the set, which is empty. */
export function createReplicas(controlPlane: ControlPlane, kubeconfig: string): Replicas {
  const running: Replica[] = [];
  let changedAt = Date.now();
  let count = 0;

  const start = async (): Promise<string> => {
    if (running.length >= MAX) return 'two run already';
    count += 1;
    changedAt = Date.now();
    const address = `127.0.0.1:${await freePort()}`;
    const log = path.join(controlPlane.logs, `controller-${count}.log`);
    const args = ['controller', '--kubeconfig', kubeconfig, '--metrics-address', address, ...QUICK_ELECTION];
    running.push({ program: startNodemaint(args, log), url: `http://${address}` });
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
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map(({ program }) => program.stop()));
    },
  };
}
