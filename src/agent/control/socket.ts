import { chmod, unlink } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';
import { claimDirectory, isListenedOn, listenOn } from '../../host/files/claim.ts';
import { type ControlRequest, controlSocketPath, parseRequest } from './protocol.ts';

/** Answers a request of a client with something that JSON can carry. */
type ControlHandler = (request: ControlRequest) => Promise<unknown>;

const MAX_REQUEST_BYTES = 4096;
/** From the first byte to the last, of question and answer. */
const TIMEOUT_MS = 5_000;
const MAX_CONNECTIONS = 100;

async function answer(text: string, handler: ControlHandler): Promise<string> {
  const [line = ''] = text.split('\n');
  try {
    const request = parseRequest(line);
    const answered = typeof request === 'string' ? { error: request } : handler(request);
    return JSON.stringify(await answered);
  } catch (error) {
    return JSON.stringify({ error: describeError(error) });
  }
}

/** Reads one line, or what there is to the end, and answers it; never rejects. */
async function serve(socket: Socket, handler: ControlHandler): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), TIMEOUT_MS);
  socket.on('close', () => {
    clearTimeout(timer);
  });
  socket.on('error', () => socket.destroy());
  socket.setEncoding('utf8');
  let text = '';
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      text += chunk as string;
      if (text.length > MAX_REQUEST_BYTES) throw new Error('too long');
      if (text.includes('\n')) break;
    }
    // What else the client says is read and dropped, so that its end is seen.
    socket.end(text.includes('\n') ? `${await answer(text, handler)}\n` : '').resume();
  } catch {
    socket.destroy();
  }
}

/** Removes what an agent that was killed has left. */
async function removeSocket(socketPath: string): Promise<void> {
  await unlink(socketPath).catch((error: unknown) => {
    if (errorCodeOf(error) !== 'ENOENT') throw error;
  });
}

/** Opens the socket; what listened on it has ended. */
async function openSocket(socketPath: string, handler: ControlHandler): Promise<AsyncDisposable> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    void serve(socket, handler);
  });
  server.maxConnections = MAX_CONNECTIONS;
  await removeSocket(socketPath);
  await listenOn(server, socketPath);
  await chmod(socketPath, 0o600);
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => {
        server.close(resolve);
      });
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

/** Claims the run directory. Throws ALREADY_RUNNING where another process has it. */
async function claim(runDirectory: string): Promise<AsyncDisposable> {
  await using claimed = new AsyncDisposableStack();
  // An agent of a version before there were claims has the socket alone.
  if (claimed.use(await claimDirectory(runDirectory)) !== undefined) {
    if (!(await isListenedOn(controlSocketPath(runDirectory)))) return claimed.move();
  }
  throw new NodemaintError(
    'ALREADY_RUNNING',
    `another agent already runs on this node, or hangs there: it has ${runDirectory}; stop it first (systemctl stop nodemaint), or give this one another runDirectory, stateDirectory and staticPodPath`,
  );
}

/**
 * Keeps other agents off the node, and opens the control socket. Throws ALREADY_RUNNING while another agent is there, and
 * CONTROL_SOCKET_UNAVAILABLE.
 */
export async function openControlSocket(runDirectory: string, handler: ControlHandler): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  try {
    stack.use(await claim(runDirectory));
    stack.use(await openSocket(controlSocketPath(runDirectory), handler));
    return stack.move();
  } catch (error) {
    if (error instanceof NodemaintError) throw error;
    throw new NodemaintError(
      'CONTROL_SOCKET_UNAVAILABLE',
      `cannot open the control socket in ${runDirectory}: ${describeError(error)}; the agent needs to write there (key "runDirectory")`,
      { cause: error },
    );
  }
}
