/** What a copy of a pod and of an EvictionRequest takes of the controller's memory; each is measured in a process of its own. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const CHILD = path.join(import.meta.dirname, 'copies-child.ts');
const AIMS = { pods: 600, requests: 1_500 } as const;

/** Prints the bytes of the heap for each object. */
export async function benchCopies(): Promise<void> {
  for (const [kind, aim] of Object.entries(AIMS)) {
    const flags = ['--expose-gc', '--disable-warning=ExperimentalWarning'];
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, CHILD, kind]);
    console.log(`copies of 10,000 ${kind} in the controller: ${stdout.trim()} bytes each (aim: at most ${aim})`);
  }
}
