/**
 * What the agent's unit tells systemd (sd_notify(3)): its state, and the heartbeat for the watchdog. Node.js has no Unix datagram sockets, and one systemd-notify per heartbeat would need
 * a new process each time, which fails when the machine has no free process ids. So one logger(1) is started, which sends a
 * datagram for each line that it reads. systemd understands the lines of its tag and ignores the others.
 */
import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import process from 'node:process';
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';

const NOTIFY_TIMEOUT_MS = 5_000;
const TAG = 'nodemaint\nWATCHDOG=1\n';

/** Sends the heartbeat of a unit. */
interface Watchdog {
  /** Sends one heartbeat. Does nothing outside of a unit; a failure is not an error. */
  beat(signal: AbortSignal): Promise<void>;
}

/** The logger process starts with the first heartbeat and ends with this process. */
export function createWatchdog(): Watchdog {
  const socket = process.env['NOTIFY_SOCKET'] ?? '';
  let messenger: ChildProcessByStdio<Writable, null, null> | undefined;

  const start = (): void => {
    const args = ['--udp', '--socket', socket, '--tag', TAG];
    const child = spawn('logger', args, { stdio: ['pipe', 'ignore', 'ignore'] });
    const forget = (): void => {
      if (messenger === child) messenger = undefined;
    };
    child.on('error', forget);
    child.on('exit', forget);
    child.stdin.on('error', forget);
    child.unref();
    (child.stdin as unknown as Socket).unref();
    if (child.pid !== undefined) messenger = child;
  };

  return {
    beat: async (signal) => {
      if (socket === '') return;
      if (messenger !== undefined) {
        messenger.stdin.write('alive\n');
        return;
      }
      if (socket.startsWith('/')) start();
      // Whether this logger knows the options is seen only later, so the first heartbeat also uses systemd-notify.
      await notifySystemd({ WATCHDOG: '1' }, signal);
    },
  };
}

/**
 * Reports the state of the agent's unit to systemd, for example `{READY: '1', STATUS: '…'}`, by systemd-notify, because
 * Node.js has no Unix datagram sockets. Does nothing outside of a unit; a failure is not an error.
 */
export async function notifySystemd(state: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
  if ((process.env['NOTIFY_SOCKET'] ?? '') === '') return;
  // A line break would start another assignment.
  const assignments = Object.entries(state).map(([key, value]) => `${key}=${value.replaceAll(/[\r\n]+/g, ' ')}`);
  try {
    await promisify(execFile)('systemd-notify', assignments, { signal, timeout: NOTIFY_TIMEOUT_MS });
  } catch {
    signal.throwIfAborted();
  }
}
