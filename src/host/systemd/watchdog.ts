/**
 * The sign of life for systemd's watchdog. Node.js has no datagram sockets in the file system, and a systemd-notify for
 * each sign would need a new process, which a machine whose process numbers are used up does not give. So one logger(1)
 * is started once and sends a datagram for each line that it reads. The lines of its tag are what systemd understands,
 * the lines around them are nothing to systemd.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import process from 'node:process';
import type { Writable } from 'node:stream';
import { notifySystemd } from './systemd1.ts';

const TAG = 'nodemaint\nWATCHDOG=1\n';

/** What beats for a unit. */
export interface Watchdog {
  /** Says that the unit lives. Does nothing outside of a unit; a failure is not an error. */
  beat(signal: AbortSignal): Promise<void>;
}

/** Makes it; its process begins with the first beat and ends with this process. */
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
      // Whether this machine's logger knows these options shows only in the time up to the next beat.
      await notifySystemd({ WATCHDOG: '1' }, signal);
    },
  };
}
