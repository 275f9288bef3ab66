/**
 * Lets one process at a time use a folder, without a kernel lock, which Node.js cannot take. A claim is a socket on which its
 * holder listens. The kernel refuses connections as soon as the holder has ended, for whatever reason, and not before: a
 * holder that is stopped or hangs keeps its claim. Claims are numbered, and the newest one is valid. A claim is never
 * replaced: a process that finds the newest one without a holder links the next number to a socket on which it listens
 * already, and if several processes try that at once, the kernel lets one succeed.
 */
import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readdir, unlink } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { errorCodeOf } from '../../errors.ts';

const CLAIM = /^claim\.([1-9]\d{0,8})$/;
const CONNECT_MS = 5_000;

/** Listens on a socket in the file system. Rejects with the error of Node.js. */
export async function listenOn(server: Server, socketPath: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Whether a process listens on the socket, even if it does not answer. */
export async function isListenedOn(socketPath: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = createConnection(socketPath);
    const settle = (listens: boolean): void => {
      socket.destroy();
      resolve(listens);
    };
    socket.setTimeout(CONNECT_MS, () => {
      settle(true);
    });
    socket.on('connect', () => {
      settle(true);
    });
    socket.on('error', (error) => {
      settle(!['ECONNREFUSED', 'ENOENT'].includes(String(errorCodeOf(error))));
    });
  });
}

async function succeeds(attempt: Promise<void>, expected: string): Promise<boolean> {
  try {
    await attempt;
    return true;
  } catch (error) {
    if (errorCodeOf(error) === expected) return false;
    throw error;
  }
}

async function numbersIn(directory: string): Promise<readonly number[]> {
  const names = await readdir(directory);
  return names.flatMap((name) => CLAIM.exec(name)?.[1] ?? []).map(Number);
}

/** Tries to make `socketPath`, on which this process listens, the newest claim. Returns whether that succeeded. */
async function becomeNewest(directory: string, socketPath: string): Promise<boolean> {
  const pathOf = (number: number): string => path.join(directory, `claim.${number}`);
  for (;;) {
    const newest = Math.max(0, ...(await numbersIn(directory)));
    if (newest > 0 && (await isListenedOn(pathOf(newest)))) return false;
    const next = newest + 1;
    if (!(await succeeds(link(socketPath, pathOf(next)), 'EEXIST'))) continue;
    // The number may have been free only because another process has made a later claim and removed this one.
    const numbers = await numbersIn(directory);
    const older = numbers.filter((number) => number < next);
    const isNewest = numbers.every((number) => number <= next);
    for (const number of isNewest ? older : [next]) await succeeds(unlink(pathOf(number)), 'ENOENT');
    if (isNewest) return true;
  }
}

/**
 * Claims a folder, and creates it if it is missing. Other users must not be able to write to it. Returns undefined while
 * another process has the claim. The claim ends with the process, or when it is disposed. Rejects with the error of Node.js
 * if the file system does not support sockets.
 */
export async function claimDirectory(directory: string): Promise<AsyncDisposable | undefined> {
  await mkdir(directory, { recursive: true, mode: 0o755 });
  const socketPath = path.join(directory, `.claim-${process.pid}-${randomBytes(4).toString('hex')}`);
  const server = createServer((socket) => socket.destroy());
  const close = async (): Promise<void> => {
    await new Promise((resolve) => {
      server.close(resolve);
    });
  };
  try {
    await listenOn(server, socketPath);
    await chmod(socketPath, 0o600);
    if (await becomeNewest(directory, socketPath)) return { [Symbol.asyncDispose]: close };
    await close();
    return undefined;
  } catch (error) {
    await close();
    throw error;
  } finally {
    await succeeds(unlink(socketPath), 'ENOENT');
  }
}
