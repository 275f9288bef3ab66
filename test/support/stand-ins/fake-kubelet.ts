import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { leaveSession } from '../session.ts';

/** How a fake kubelet differs from one of the user who runs the test. */
export interface FakeKubelet {
  readonly user?: number;
  /** A command that starts it. */
  readonly prefix?: readonly string[];
  /** Another executable than a link called kubelet. */
  readonly program?: string;
  readonly argv0?: string;
}

/** A process with the name and the command line of a kubelet, in `folder`; it does nothing. */
export async function startFakeKubelet(
  folder: string,
  flags: readonly string[],
  { user, prefix = [], program, argv0 }: FakeKubelet = {},
): Promise<ChildProcess> {
  leaveSession();
  const link = path.join(folder, 'kubelet');
  await symlink('/bin/sh', link).catch(() => undefined);
  // It waits for the end of its standard input, which no other process shares: a kill leaves nothing behind.
  const [file = '', ...args] = [...prefix, program ?? link, '-c', 'echo up; read wait', 'kubelet', ...flags];
  const child = spawn(file, args, {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
    ...(argv0 === undefined ? {} : { argv0 }),
    ...(user === undefined ? {} : { uid: user, gid: user }),
  });
  if (child.stdout !== null) await once(child.stdout, 'data');
  return child;
}

/** Ends it and waits until it is gone. */
export async function endFakeKubelet(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
