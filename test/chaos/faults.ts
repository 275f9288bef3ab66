import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ChaosCluster } from './cluster.ts';
import { describeStep, type History, type Step } from './history.ts';
import { INVARIANTS, type Invariant, signatureOf } from './invariants/violation.ts';
import { CHECKOUT } from './product.ts';
import type { Outcome } from './run.ts';
import type { Play } from './shrink.ts';

/** A fault that is put into a copy of the product, and a history that has to show it. */
export interface Fault {
  /** What the faulty product does. */
  readonly name: string;
  /** The invariant that has to be violated. */
  readonly invariant: Invariant;
  /** What is replaced; each `find` is in its file exactly once. */
  readonly edits: readonly { readonly file: string; readonly find: string; readonly by: string }[];
  readonly steps: readonly Step[];
}

const FOLDER = path.join(import.meta.dirname, 'faults');
/** What a copy of the product consists of, beside the packages. */
const PARTS = ['src', 'manifests', 'package.json'];
/** A race may hide a fault once. */
const ATTEMPTS = 2;

/** Reads the faults, by their file names. */
export async function readFaults(): Promise<ReadonlyMap<string, Fault>> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.json')).toSorted();
  const read = async (file: string): Promise<Fault> =>
    JSON.parse(await readFile(path.join(FOLDER, file), 'utf8')) as Fault;
  return new Map(
    await Promise.all(files.map(async (file) => [path.basename(file, '.json'), await read(file)] as const)),
  );
}

/** The text with the fault; throws where the source is not as the fault expects it. */
export function withFault(source: string, { file, find, by }: Fault['edits'][number]): string {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times, and not once: ${find}`);
  return parts.join(by);
}

/** Makes a copy of the product, and of these other parts of the checkout, with the fault; returns its root. */
export async function copyWithFault(
  folder: string,
  { edits }: Pick<Fault, 'edits'>,
  more: readonly string[] = [],
): Promise<string> {
  const root = await mkdtemp(path.join(folder, 'copy-'));
  for (const part of [...PARTS, ...more])
    await cp(path.join(CHECKOUT, part), path.join(root, part), { recursive: true });
  await symlink(path.join(CHECKOUT, 'node_modules'), path.join(root, 'node_modules'));
  for (const edit of edits) {
    const file = path.join(root, edit.file);
    await writeFile(file, withFault(await readFile(file, 'utf8'), edit));
  }
  return root;
}

function describe({ violations }: Outcome): string {
  return violations.map(signatureOf).join('; ') || 'nothing found';
}

/** Plays the history of a fault until its invariant is violated; returns whether it was. */
async function isCaught(play: Play, { invariant, steps }: Fault, history: History): Promise<boolean> {
  const invariants = new Set([invariant]);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const outcome = await play({ ...history, steps }, { invariants });
    console.log(`    ${describe(outcome)}, in ${outcome.seconds.toFixed(1)} s`);
    if (outcome.violations.length > 0) return true;
    for (const { at, step, outcome: came } of outcome.performed) {
      console.log(`      ${at.toFixed(1).padStart(5)} s  ${describeStep(step)} → ${came}`);
    }
  }
  return false;
}

/**
 * Plays the history of each fault twice: against the product, where no invariant may be violated, and against a copy with the
 * fault, where that of the fault has to be. Returns whether all was so; prints what was not.
 */
export async function runFaults(cluster: ChaosCluster, play: Play, names: readonly string[]): Promise<boolean> {
  const faults = [...(await readFaults())].filter(([name]) => names.length === 0 || names.includes(name));
  const invariants = new Set(Object.keys(INVARIANTS) as Invariant[]);
  const historyOf = (index: number, { name, steps }: Fault): History => ({ name, seed: 7_000 + index, steps });
  const clean = await Promise.all(faults.map(([, fault], index) => play(historyOf(index, fault), { invariants })));
  let isRight = faults.length > 0;
  for (const outcome of clean.filter(({ violations }) => violations.length > 0)) {
    isRight = false;
    console.log(`without a fault: ${outcome.history.name}: ${describe(outcome)}`);
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-faults-'));
  try {
    for (const [index, [file, fault]] of faults.entries()) {
      console.log(`${file} (${fault.invariant}): ${fault.name}`);
      await cluster.use(await copyWithFault(folder, fault));
      const caught = await isCaught(play, fault, historyOf(index, fault));
      console.log(`${file} (${fault.invariant}): ${caught ? 'caught' : 'NOT CAUGHT'}`);
      isRight &&= caught;
    }
  } finally {
    await cluster.use(CHECKOUT);
    await rm(folder, { recursive: true, force: true });
  }
  const covered = new Set(faults.map(([, { invariant }]) => invariant));
  const missing = names.length > 0 ? [] : [...invariants].filter((each) => !covered.has(each));
  if (missing.length > 0) console.log(`no fault for ${missing.join(', ')}`);
  return isRight && missing.length === 0;
}
