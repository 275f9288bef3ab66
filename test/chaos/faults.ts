import { cp, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Invariant } from './invariants/violation.ts';
import { CHECKOUT } from './product.ts';

/** A fault that is put into a copy of the product, which simulated histories have to show. */
export interface Fault {
  /** What the faulty product does. */
  readonly name: string;
  /** The invariant that has to be violated. */
  readonly invariant: Invariant;
  /** What is replaced; each `find` is in its file exactly once. */
  readonly edits: readonly { readonly file: string; readonly find: string; readonly by: string }[];
}

const FOLDER = path.join(import.meta.dirname, 'faults');
/** What a copy of the product consists of, beside the packages. */
const PARTS = ['src', 'manifests', 'package.json'];

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
