/** Deliberate faults of the three patterns of Sieve, and which technique finds each: unit tests, plans in virtual time, histories. */
import { spawn } from 'node:child_process';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { copyWithFault, type Fault } from '../../chaos/faults.ts';
import { makeTestFolder } from '../../support/folder.ts';

/** A fault that is put into a copy of the checkout, and where it is looked for. */
export interface PatternFault extends Pick<Fault, 'name' | 'edits'> {
  /** A program acts by what is over; has not seen what was; or ends between two writes. */
  readonly pattern: 'stale' | 'unobserved' | 'intermediate';
  /** The scenario whose plans are played. */
  readonly scenario: string;
  /** The unit tests of what is changed: a file, or a folder. */
  readonly unit: string;
}

const FOLDER = path.join(import.meta.dirname, 'faults');

/** Reads the faults, by their file names. */
export async function readPatternFaults(): Promise<ReadonlyMap<string, PatternFault>> {
  const files = (await readdir(FOLDER)).toSorted();
  const read = async (file: string): Promise<readonly [string, PatternFault]> => {
    const content = await readFile(path.join(FOLDER, file), 'utf8');
    return [path.basename(file, '.json'), JSON.parse(content) as PatternFault];
  };
  return new Map(await Promise.all(files.map(read)));
}

/** Runs Node.js in the copy; what it has printed, and whether it says by its exit code that something is wrong. */
async function run(
  root: string,
  args: readonly string[],
): Promise<{ readonly isFound: boolean; readonly said: string }> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  const said = await text(child.stdout);
  const code = await ended;
  if (code !== 0 && code !== 1) throw new Error(`node ${args.join(' ')} ended with ${code}`);
  return { isFound: code === 1, said };
}

/** The first line that begins so, without that. */
function lineAfter(said: string, beginning: string): string {
  const line = said.split('\n').find((each) => each.startsWith(beginning)) ?? '';
  return line.slice(beginning.length).trim();
}

/** The files of unit tests under a path. */
async function unitFiles(root: string, unit: string): Promise<readonly string[]> {
  if (!(await stat(path.join(root, unit))).isDirectory()) return [unit];
  const files = await readdir(path.join(root, unit));
  return files.filter((file) => file.endsWith('.test.ts')).map((file) => path.join(unit, file));
}

/** What each technique says of the product at `root`. */
async function askTechniques(root: string, { scenario, unit }: PatternFault, count: number): Promise<string> {
  const units = await run(root, ['--test', ...(await unitFiles(root, unit))]);
  const simulated = ['test/simulation/perturbed/main.ts', '--scenario', scenario, '--plans', '0'];
  const plans = [...simulated, '--first', '--threads', '1', '--sample', '400'];
  const planned = await run(root, plans);
  const seeds = ['test/simulation/main.ts', '--seeds', String(count), '--first', '--threads', '1'];
  const histories = await run(root, seeds);
  const plan = lineAfter(planned.said, 'FOUND: ') || lineAfter(planned.said, 'FOUND without a plan in ');
  return [
    `unit ${units.isFound ? 'caught' : 'not caught'}`,
    `plans ${planned.isFound ? `caught: ${plan}` : 'not caught'}`,
    `histories ${histories.isFound ? `caught: seed ${lineAfter(histories.said, 'seed ')}` : `not caught by ${count}`}`,
  ].join('\n    ');
}

/** Tries each fault, or those of these names, and prints which technique finds it; so many histories are played. */
export async function tryFaults(names: readonly string[], histories: number): Promise<void> {
  const faults = [...(await readPatternFaults())].filter(([name]) => names.length === 0 || names.includes(name));
  const folder = await makeTestFolder('pattern-faults');
  try {
    for (const [name, fault] of faults) {
      const root = await copyWithFault(folder, fault, ['test', 'tsconfig.json']);
      console.log(`${name} (${fault.pattern}): ${fault.name}\n    ${await askTechniques(root, fault, histories)}`);
      await rm(root, { recursive: true, force: true });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
