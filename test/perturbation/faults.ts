/** Deliberate faults: each is put into a copy of the checkout, where its plan has to find something. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { copyWithFault, type Fault } from '../chaos/faults.ts';
import { makeTestFolder } from '../support/folder.ts';

/** A fault, and a plan that shows it. */
export interface PlannedFault extends Pick<Fault, 'name' | 'edits'> {
  readonly plan: string;
}

const FOLDER = path.join(import.meta.dirname, 'faults');
const MAIN = 'test/perturbation/main.ts';

/** Reads the faults, by their file names. */
export async function readPlannedFaults(): Promise<ReadonlyMap<string, PlannedFault>> {
  const files = (await readdir(FOLDER)).toSorted();
  const read = async (file: string): Promise<readonly [string, PlannedFault]> => {
    const text = await readFile(path.join(FOLDER, file), 'utf8');
    return [path.basename(file, '.json'), JSON.parse(text) as PlannedFault];
  };
  return new Map(await Promise.all(files.map(read)));
}

/** Plays the plan in the checkout at `root`; returns whether something was found, which the test says by its exit code. */
async function finds(root: string, plan: string): Promise<boolean> {
  const args = ['--disable-warning=ExperimentalWarning', path.join(root, MAIN), '--plan', plan];
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0 && code !== 1) throw new Error(`the test ended with ${code}`);
  return code === 1;
}

/** Plays the plan of each fault in a copy of the checkout that has the fault; returns whether all were caught. */
export async function runPlannedFaults(): Promise<boolean> {
  const folder = await makeTestFolder('planned-faults');
  let isRight = true;
  try {
    for (const [file, fault] of await readPlannedFaults()) {
      console.log(`${file}: ${fault.name}`);
      const isCaught = await finds(await copyWithFault(folder, fault, ['test', 'tsconfig.json']), fault.plan);
      console.log(`${file}: ${isCaught ? 'caught' : 'NOT CAUGHT'}`);
      isRight &&= isCaught;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return isRight;
}
