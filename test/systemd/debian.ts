/** Releases of Debian as folders, made by debootstrap. */
import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const SUITES = { '12': 'bookworm', '13': 'trixie', unstable: 'sid' } as const;

/** A release of Debian, by its number; unstable has none. */
export type Debian = keyof typeof SUITES;

/** What mounts in here, such as debootstrap, leaves no mount and no process behind, however it ends. */
const CONTAINED = ['--mount', '--pid', '--fork', '--kill-child', '--'] as const;

/** The mirror that this machine's own apt uses; it has all releases. */
export async function findMirror(): Promise<string> {
  const suite = SUITES['12'];
  const format = ['--format', '$(REPO_URI) $(CODENAME) $(COMPONENT)', 'Created-By: Packages'];
  const { stdout } = await run('apt-get', ['indextargets', ...format]);
  const line = stdout.split('\n').find((text) => text.endsWith(` ${suite} main`));
  if (line === undefined) throw new Error(`apt on this machine has no source for ${suite} main; run apt-get update`);
  return line.split(' ')[0] ?? '';
}

/** Runs a command whose mounts and processes end with it; rejects with what it printed if it fails. */
export async function runContained(command: readonly string[], signal: AbortSignal): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('unshare', [...CONTAINED, ...command], { signal, maxBuffer: 64 * 1024 * 1024, env });
}

/** Installs a release with these packages into a new folder. */
export async function installDebian(
  debian: Debian,
  root: string,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const flags = ['--variant=minbase', `--include=${packages.join(',')}`];
  await runContained(['debootstrap', ...flags, SUITES[debian], root, await findMirror()], signal);
}
