/** Which deliberate faults the exploration finds: its own, and those of the chaos test that need no agent and no watch. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { copyWithFault, type Fault, readFaults } from '../chaos/faults.ts';
import { signatureOf } from '../chaos/invariants/violation.ts';
import { explore, type Limits } from './explore.ts';
import type { Finding } from './judge.ts';
import { loadProduct } from './product.ts';
import { WORLDS } from './worlds.ts';

/** A fault that is put into a copy of the product, and the worlds that have to show it. */
export interface OwnFault extends Pick<Fault, 'name' | 'edits'> {
  readonly invariant: Finding['invariant'];
  /** The first one that finds something ends the search. */
  readonly worlds: readonly string[];
}

const FOLDER = path.join(import.meta.dirname, 'faults');

/** By the names of faults of the chaos test: the worlds that have to show them. */
const OF_CHAOS: Readonly<Record<string, readonly string[]>> = {
  'all-tiers-at-once': ['tiers'],
  'early-drained': ['closed'],
  'foreign-cordons': ['cordon of a person'],
  'kept-cordons': ['person cordons'],
  'uncovered-requests': ['tiers'],
};

/** Reads the exploration's own faults, by their file names. */
export async function readOwnFaults(): Promise<ReadonlyMap<string, OwnFault>> {
  const files = (await readdir(FOLDER)).toSorted();
  const read = async (file: string): Promise<OwnFault> =>
    JSON.parse(await readFile(path.join(FOLDER, file), 'utf8')) as OwnFault;
  return new Map(
    await Promise.all(files.map(async (file) => [path.basename(file, '.json'), await read(file)] as const)),
  );
}

/** All faults that are looked for. */
async function allFaults(): Promise<ReadonlyMap<string, OwnFault>> {
  const ofChaos = [...(await readFaults())].flatMap(([name, fault]) => {
    const worlds = OF_CHAOS[name];
    return worlds === undefined ? [] : [[`chaos/${name}`, { ...fault, worlds }] as const];
  });
  return new Map([...(await readOwnFaults()), ...ofChaos]);
}

/** What is found first of a fault, in words; undefined where nothing is. */
async function firstFind(root: string, { worlds }: OwnFault, limits: Limits): Promise<string | undefined> {
  const product = await loadProduct(root);
  for (const name of worlds) {
    const small = WORLDS[name];
    if (small === undefined) throw new Error(`there is no world ${name}`);
    const { found, states } = await explore(product, small, limits);
    const [first] = found;
    if (first === undefined) continue;
    return `${signatureOf(first.finding)}, in the world "${name}", ${states} states, ${first.way.length} moves`;
  }
  return undefined;
}

/** Explores a copy with each fault until something is found; returns whether each was. */
export async function findFaults(limits: Omit<Limits, 'first'>, names: readonly string[]): Promise<boolean> {
  let isComplete = true;
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-interleavings-'));
  try {
    for (const [name, fault] of await allFaults()) {
      if (names.length > 0 && !names.includes(name)) continue;
      const begun = performance.now();
      const found = await firstFind(await copyWithFault(folder, fault), fault, { ...limits, first: true });
      const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
      console.log(`${name} (${fault.invariant}): ${found ?? 'NOT FOUND'}, ${seconds} s`);
      isComplete &&= found !== undefined;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return isComplete;
}
