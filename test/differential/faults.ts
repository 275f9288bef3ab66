/** Deliberate faults of the product, and whether the sequences find each of them. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { copyWithFault, type Fault as Edits } from '../chaos/faults.ts';
import { SUBJECTS } from './subjects.ts';
import { type Find, Tally } from './tally.ts';

/** A fault that is put into a copy of the product. */
export interface Fault extends Pick<Edits, 'name' | 'edits'> {
  readonly of: string;
  /** The oracle that has to find it. */
  readonly oracle: Find['oracle'];
  /** So many sequences are played at most. */
  readonly sequences: number;
}

const FOLDER = path.join(import.meta.dirname, 'faults');

/** Reads the faults of a subject, or of all, by their file names. */
export async function readFaults(of?: string): Promise<ReadonlyMap<string, Fault>> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.json')).toSorted();
  const read = async (file: string): Promise<readonly [string, Fault]> => [
    path.basename(file, '.json'),
    JSON.parse(await readFile(path.join(FOLDER, file), 'utf8')) as Fault,
  ];
  const all = await Promise.all(files.map(read));
  return new Map(all.filter(([, fault]) => of === undefined || fault.of === of));
}

/** Plays sequences against a copy with the fault; returns what its oracle finds. */
export async function playFault(fault: Fault, seed: number): Promise<readonly Find[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-faults-'));
  try {
    const root = await copyWithFault(folder, fault);
    const tally = new Tally();
    await SUBJECTS[fault.of]?.(root, { sequences: fault.sequences, seed }, tally);
    return tally.finds.filter(({ oracle }) => oracle === fault.oracle);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Plays against each fault; prints which ones are found, and returns whether all are. */
export async function findFaults(of: string | undefined, seed: number): Promise<boolean> {
  const faults = await readFaults(of);
  let isComplete = faults.size > 0;
  for (const [name, fault] of faults) {
    const [first] = await playFault(fault, seed);
    const found =
      first === undefined ? 'NOT FOUND' : `found by sequence ${first.sequence}: ${first.what.slice(0, 300)}`;
    console.log(`${name} (${fault.of}, ${fault.oracle}): ${found}`);
    isComplete &&= first !== undefined;
  }
  return isComplete;
}
