/**
 * A real systemd as process 1, with a real logind and D-Bus, in namespaces over a copy-on-write view of this machine's
 * file system: for what has to be seen on a whole machine, but not on its kernel. It boots in about a second. Needs root.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { childOf, startProgram } from '../control-plane/process.ts';
import { makeControlGroups } from './control-groups.ts';
import { waitFor } from '../support/wait-for.ts';

const START = new URL('start-container.sh', import.meta.url).pathname;
const ROOT = path.join(import.meta.dirname, '..', '..');
/** Where this repository lies in it, read-only. */
export const CHECKOUT = '/checkout';
/** Where the shared folder lies in it. */
export const SHARE = '/share';
/** Where all lies in it that was written below its root folder, but not on a file system that is mounted there. */
export const WRITTEN = '/written';
/** The Node.js of this process. */
export const NODE = `${CHECKOUT}/${path.relative(ROOT, process.execPath)}`;
const READY_MS = 240_000;
/** An installation alone waits three minutes for its agent. */
const COMMAND_MS = 300_000;
const NAMESPACES = ['--mount', '--pid', '--uts', '--ipc', '--net', '--cgroup'] as const;
/** A program that enters the control group in which its namespace of control groups is to begin. */
const ENTER = 'for group in $GROUPS_OF_RIG; do echo $$ >"$group/cgroup.procs" || exit; done; exec "$@"';

/** How a command ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running systemd with everything that it started. */
export interface SystemContainer extends AsyncDisposable {
  /** Runs a command line of sh in it, as root; `input` is its standard input. It is killed after `timeoutMs`, five minutes unless told. */
  run(command: string, input?: string, timeoutMs?: number): Promise<Ended>;
  /** The same, and rejects with what it printed where its exit code is not 0; resolves to its standard output. */
  must(command: string, input?: string, timeoutMs?: number): Promise<string>;
  /** Whether its systemd has ended, as it does at the end of a shutdown. It cannot while a command of `run` is in it. */
  hasEnded(): boolean;
  /** The number of its first process, by which the machine reaches its namespaces. */
  firstProcess(): number;
}

/** What is in a container. */
export interface ContainerOptions {
  /** The root folder of its system, which stays as it is. */
  readonly root: string;
  /** A folder that is at SHARE there, writable. */
  readonly share: string;
  /** A folder outside of `root` that keeps what the system writes, for its next boot; without one it is gone with it. */
  readonly disk?: string;
}

/** Starts one over the file system of this machine, and waits until it has booted. */
export async function startSystemContainer(signal: AbortSignal): Promise<SystemContainer> {
  return await startOtherContainer({ root: '/', share: '' }, signal);
}

/** The same over another system. */
export async function startOtherContainer(
  { root, share, disk = '' }: ContainerOptions,
  signal: AbortSignal,
): Promise<SystemContainer> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-container-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const groups = await makeControlGroups(path.basename(folder), stack);
  const unshare = ['unshare', ...NAMESPACES, '--fork', '--kill-child', '--'] as const;
  const program = startProgram(
    ['sh', '-c', ENTER, 'sh', ...unshare, START, folder, ROOT, root, share, disk],
    path.join(tmpdir(), `${path.basename(folder)}.log`),
    { GROUPS_OF_RIG: groups.join(' ') },
  );
  stack.defer(() => rm(program.logFile, { force: true }));
  stack.defer(async () => {
    // The end of the first process ends all others; unshare, which ignores SIGTERM, waits for that.
    const first = childOf(program.pid);
    if (first !== undefined) process.kill(first, 'SIGKILL');
    await program.stop();
  });
  const run = async (command: string, input = '', timeoutMs = COMMAND_MS): Promise<Ended> => {
    const inside = ['--target', String(childOf(program.pid)), ...NAMESPACES];
    const shell = ['env', '-i', `PATH=${process.env['PATH'] ?? ''}`, 'HOME=/root', 'sh', '-c', command];
    return await new Promise((resolve) => {
      const child = execFile(
        'nsenter',
        [...inside, '--root', '--wdns=/', '--', ...shell],
        { timeout: timeoutMs, maxBuffer: 16 * 1024 * 1024 },
        (error, stdout, stderr) => {
          resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr });
        },
      );
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input);
    });
  };
  const must = async (command: string, input?: string, timeoutMs?: number): Promise<string> => {
    const { code, stdout, stderr } = await run(command, input, timeoutMs);
    if (code !== 0) throw new Error(`"${command}" ended with ${code}:\n${stdout}${stderr}`);
    return stdout;
  };
  const hasBooted = async (): Promise<boolean> =>
    (await run('systemctl is-active rig.target && busctl status org.freedesktop.login1')).code === 0;
  await waitFor('the container has booted', hasBooted, { timeoutMs: READY_MS, program, signal });
  const owned = stack.move();
  const firstProcess = (): number => childOf(program.pid) ?? 0;
  return {
    run,
    must,
    firstProcess,
    hasEnded: () => program.exited(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
