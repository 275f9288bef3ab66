import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

/** What a command printed on the machine. */
export interface Answer {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

export interface CommandOptions {
  readonly input?: Buffer | Readable | string;
  /** Three minutes unless told, since the processor of the machine is emulated; a command that takes longer is an error. */
  readonly timeoutMs?: number;
}

/** Root's shell on a machine, a new connection for each command, so that a reboot in between does no harm. */
export interface Shell {
  /** Runs a command line, or one program with its arguments; 255 is also ssh's own code for no connection. */
  ssh(command: string | readonly string[], options?: CommandOptions): Promise<Answer>;
  /** Like `ssh`, but a command that fails is an error with what it printed. */
  must(command: string | readonly string[], options?: CommandOptions): Promise<string>;
  /** Copies files and folders with their modes, host paths by machine paths; links are followed, root owns them all. */
  copy(files: Readonly<Record<string, string>>): Promise<void>;
}

export interface Login {
  readonly keyFile: string;
  readonly port: number;
}

const SSH_OPTIONS = [
  'StrictHostKeyChecking=no',
  'UserKnownHostsFile=/dev/null',
  'LogLevel=ERROR',
  'ConnectTimeout=15',
  'BatchMode=yes',
  'IdentitiesOnly=yes',
];
const COMMAND_MS = 180_000;

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function lineOf(command: string | readonly string[]): string {
  return typeof command === 'string' ? command : command.map(quote).join(' ');
}

/** An argument of tar that gives what lies at `source` another place; both are absolute. */
function transform(source: string, target: string): string {
  const pattern = source.slice(1).replaceAll(/[.*[\]^$,\\]/g, String.raw`\$&`);
  const place = target.slice(1).replaceAll(/[&,\\]/g, String.raw`\$&`);
  return String.raw`--transform=s,^${pattern}\(/\|$\),${place}\1,`;
}

/** A shell on the machine whose sshd is at `login`; commands end with `signal`. */
export function createShell(login: Login, signal: AbortSignal): Shell {
  const options = SSH_OPTIONS.flatMap((option) => ['-o', option]);
  const args = ['-F', 'none', ...options, '-i', login.keyFile, '-p', String(login.port), 'root@127.0.0.1'];

  const ssh: Shell['ssh'] = async (command, { input = '', timeoutMs = COMMAND_MS } = {}) => {
    const line = lineOf(command);
    return await new Promise((resolve, reject) => {
      const child = spawn('ssh', [...args, line], { timeout: timeoutMs, killSignal: 'SIGKILL', signal });
      let stdout = '';
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
      child.on('error', reject);
      child.on('close', (code) => {
        if (code !== null) resolve({ stdout, stderr, code });
        else reject(new Error(`on the machine, "${line}" did not end within ${timeoutMs} ms: ${stderr}${stdout}`));
      });
      // It may end before it has read everything.
      child.stdin.on('error', () => undefined);
      if (typeof input === 'string' || Buffer.isBuffer(input)) child.stdin.end(input);
      else input.pipe(child.stdin);
    });
  };

  const must: Shell['must'] = async (command, commandOptions) => {
    const { stdout, stderr, code } = await ssh(command, commandOptions);
    if (code !== 0) throw new Error(`on the machine, "${lineOf(command)}" ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  };

  const copy: Shell['copy'] = async (files) => {
    const entries = Object.entries(files);
    const transforms = entries.map(([target, source]) => transform(source, target));
    const sources = entries.map(([, source]) => source.slice(1));
    const owner = ['--owner=0', '--group=0', '--numeric-owner'];
    const tar = spawn('tar', ['-C', '/', ...owner, ...transforms, '-chf', '-', ...sources], {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
    });
    let complaint = '';
    tar.stderr.setEncoding('utf8').on('data', (chunk: string) => (complaint += chunk));
    const packed = new Promise<void>((resolve, reject) => {
      tar.on('error', reject);
      tar.on('close', (code) => {
        if (code === 0) resolve();
        else reject(new Error(`tar of ${sources.join(', ')} ended with ${code}: ${complaint}`));
      });
    });
    const unpacked = must('tar -C / --no-overwrite-dir -xf -', { input: tar.stdout });
    try {
      await Promise.all([packed, unpacked]);
    } finally {
      tar.kill('SIGKILL');
    }
  };

  return { ssh, must, copy };
}
