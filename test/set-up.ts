/** Installs what the suites need, with the package manager of Debian and Ubuntu. */
import { execFile } from 'node:child_process';
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { promisify } from 'node:util';
import { missingPackages, program, ROOT, type Requirement } from './requirements.ts';

const run = promisify(execFile);
const APT = program('apt-get');

/** Whether it may install: a person at the terminal is asked, and nobody else is there to ask. */
async function mayInstall(packages: readonly string[], signal: AbortSignal): Promise<boolean> {
  console.error(`the tests need packages that this machine lacks: ${packages.join(' ')}`);
  if (!process.stdin.isTTY || !process.stderr.isTTY || process.env['CI'] !== undefined) return true;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question('Install them with apt-get? [Y/n] ', { signal });
    return /^(?:y|yes|)$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

/**
 * Installs the packages that are missing, as far as this is possible: as root, on a machine with apt-get. What is still
 * missing afterwards is for the caller to say.
 */
export async function setUp(requirements: readonly Requirement[], signal: AbortSignal): Promise<void> {
  const packages = missingPackages(requirements);
  if (packages.length === 0 || !ROOT.met() || !APT.met()) return;
  if (!(await mayInstall(packages, signal))) return;
  const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, signal, maxBuffer: 64 * 1024 * 1024 };
  try {
    await run('apt-get', ['update', '-qq'], options);
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], options);
  } catch (error) {
    if (signal.aborted) throw error;
    // The suites that lack something are named afterwards.
    console.error(String(error));
  }
}
