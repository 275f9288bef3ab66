import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { chmod, chown, mkdir, unlink } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import { describeError, NodemaintError } from '../errors.ts';

const requestSchema = z.discriminatedUnion('verb', [
  z.strictObject({ verb: z.literal('status') }),
  z.strictObject({
    verb: z.literal('trigger'),
    reason: z.string().min(1).max(1024),
    /** From when the agent reads it. */
    deadlineMs: z
      .int()
      .min(1)
      .max(30 * 86_400_000)
      .exactOptional(),
  }),
  z.strictObject({ verb: z.literal('cancel') }),
  z.strictObject({ verb: z.literal('release'), reason: z.string().min(1).max(1024) }),
  z.strictObject({
    verb: z.enum(['park', 'restore']),
    file: z.string().regex(/^[^./\0][^/\0]{0,254}$/, 'no file name'),
  }),
]);

/** What a local client may ask of the agent: one JSON line, answered by one JSON line. */
export type ControlRequest = z.infer<typeof requestSchema>;
/** Answers a request with something that JSON can carry. */
export type ControlHandler = (request: ControlRequest) => Promise<unknown>;

const MAX_REQUEST_BYTES = 4096;
const TIMEOUT_MS = 5_000;

/** The place of the control socket. */
export function controlSocketPath(runDirectory: string): string {
  return path.join(runDirectory, 'control.sock');
}

/** Sends one request to the agent; throws CONTROL_SOCKET_UNAVAILABLE where none answers. */
export async function askAgent(socketPath: string, request: ControlRequest): Promise<unknown> {
  const text = await new Promise<string>((resolve, reject) => {
    let answer = '';
    const socket = createConnection(socketPath);
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
    socket.setEncoding('utf8');
    socket.on('connect', () => socket.write(`${JSON.stringify(request)}\n`));
    socket.on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('end', () => {
      resolve(answer);
    });
    socket.on('error', reject);
  }).catch((error: unknown) => {
    throw new NodemaintError(
      'CONTROL_SOCKET_UNAVAILABLE',
      `no agent answers at ${socketPath} (${describeError(error)}); is nodemaint.service running, and are you root?`,
      { cause: error },
    );
  });
  const answer = JSON.parse(text) as { error?: unknown };
  if (typeof answer.error === 'string') throw new NodemaintError('USAGE', answer.error);
  return answer;
}

async function answer(line: string, handler: ControlHandler): Promise<string> {
  try {
    const parsed = requestSchema.safeParse(JSON.parse(line));
    if (!parsed.success) return JSON.stringify({ error: `not a request: ${z.prettifyError(parsed.error)}` });
    return JSON.stringify(await handler(parsed.data));
  } catch (error) {
    return JSON.stringify({ error: describeError(error) });
  }
}

function serve(socket: Socket, handler: ControlHandler): void {
  let text = '';
  socket.setEncoding('utf8');
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: string) => {
    text += chunk;
    if (text.length > MAX_REQUEST_BYTES) {
      socket.destroy();
      return;
    }
    const end = text.indexOf('\n');
    if (end < 0) return;
    socket.pause();
    answer(text.slice(0, end), handler).then(
      (line) => socket.end(`${line}\n`),
      () => socket.destroy(),
    );
  });
}

async function listen(server: Server, socketPath: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** The number of a group of this machine. Throws CONFIG_INVALID. */
async function groupId(name: string): Promise<number> {
  const found = await promisify(execFile)('getent', ['group', '--', name], { timeout: TIMEOUT_MS }).catch(
    () => undefined,
  );
  const id = Number(found?.stdout.split(':')[2] || Number.NaN);
  if (Number.isSafeInteger(id)) return id;
  throw new NodemaintError('CONFIG_INVALID', `there is no group ${name} on this machine (key "controlGroup")`);
}

/**
 * Opens the control socket, which only root, the socket's owner and \`group\` may use. It is also what keeps a second agent off the
 * node: throws ALREADY_RUNNING while another one answers on it, and takes over a socket that nobody answers on.
 */
export async function openControlSocket(
  socketPath: string,
  handler: ControlHandler,
  group?: string,
): Promise<AsyncDisposable> {
  const gid = group === undefined ? undefined : await groupId(group);
  const server = createServer((socket) => {
    serve(socket, handler);
  });
  try {
    await mkdir(path.dirname(socketPath), { recursive: true, mode: 0o755 });
    await listen(server, socketPath);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') {
      throw new NodemaintError(
        'CONTROL_SOCKET_UNAVAILABLE',
        `cannot open the control socket ${socketPath}: ${describeError(error)}; the agent needs to write ${path.dirname(socketPath)} (key "runDirectory")`,
        { cause: error },
      );
    }
    if (await answers(socketPath)) {
      throw new NodemaintError(
        'ALREADY_RUNNING',
        `another agent already runs on this node: it answers at ${socketPath}; stop it first (systemctl stop nodemaint), or give this one another runDirectory, stateDirectory and staticPodPath`,
        { cause: error },
      );
    }
    await unlink(socketPath);
    await listen(server, socketPath);
  }
  // In this order: nobody may use it before it is known who may.
  await chmod(socketPath, 0o600);
  if (gid !== undefined) {
    await chown(socketPath, -1, gid);
    await chmod(socketPath, 0o660);
  }
  return {
    [Symbol.asyncDispose]: async () => {
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

async function answers(socketPath: string): Promise<boolean> {
  try {
    await askAgent(socketPath, { verb: 'status' });
    return true;
  } catch (error) {
    return error instanceof NodemaintError && error.code !== 'CONTROL_SOCKET_UNAVAILABLE';
  }
}
