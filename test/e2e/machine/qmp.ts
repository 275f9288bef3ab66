import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';

const ANSWER_MS = 10_000;

/** A command of QEMU's machine protocol (QMP). */
export interface QmpCommand {
  readonly execute: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** Gives QEMU one command over its monitor's socket and resolves when it has been accepted. */
export async function sendQmp(socketPath: string, command: QmpCommand, signal: AbortSignal): Promise<void> {
  const socket = createConnection(socketPath);
  const timeUp = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
  const abort = (): void => {
    socket.destroy(new Error(`QEMU did not accept ${command.execute}`, { cause: timeUp.reason }));
  };
  timeUp.addEventListener('abort', abort, { once: true });
  let failure: unknown;
  socket.on('error', (error) => (failure = error));
  // The greeting is answered with the first command, and the answer to that with the second.
  const commands: QmpCommand[] = [{ execute: 'qmp_capabilities' }, command];
  try {
    for await (const line of createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })) {
      const message = JSON.parse(line) as { event?: string; error?: { desc: string } };
      if (message.error !== undefined) throw new Error(`QEMU refused ${command.execute}: ${message.error.desc}`);
      // Events come at any time.
      if (message.event !== undefined) continue;
      const next = commands.shift();
      if (next === undefined) return;
      socket.write(`${JSON.stringify(next)}\n`);
    }
  } finally {
    timeUp.removeEventListener('abort', abort);
    socket.destroy();
  }
  throw new Error(`QEMU closed its monitor before it accepted ${command.execute}`, { cause: failure });
}
