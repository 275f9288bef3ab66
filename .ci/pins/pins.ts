/** The hashes of what a release takes from others and runs or ships, in files that `sha256sum --check` reads. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** The sha256 of files, in hexadecimal, by their names. */
export type Pins = ReadonlyMap<string, string>;

/** How a person accepts what has changed. */
export const HOW_TO_ACCEPT = 'look at what changed; "npm run pins" writes the new hashes, which are to be committed';
const LINE = /^([0-9a-f]{64}) {2}(\S+)$/;

/** The place of a file with pins. */
export function pinsFile(name: 'node' | 'debian'): string {
  return path.join(import.meta.dirname, `${name}.sha256`);
}

/** The sha256 of data, in hexadecimal. */
export function sha256(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Parses what sha256sum prints; lines that begin with "#" are comments. Throws an Error for any other line. */
export function parseSums(text: string, source: string): Pins {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const found = new Map<string, string>();
  for (const line of lines) {
    const [, sum, name] = LINE.exec(line) ?? [];
    if (sum === undefined || name === undefined) throw new Error(`${source} has a line that is no hash with a name: ${line}`);
    found.set(name, sum);
  }
  return found;
}

/** Reads a file with pins. */
export async function readPins(name: 'node' | 'debian'): Promise<Pins> {
  const file = pinsFile(name);
  return parseSums(await readFile(file, 'utf8'), file);
}

/** Writes a file with pins, sorted by name, and keeps its comment. */
export async function writePins(name: 'node' | 'debian', pins: Pins): Promise<void> {
  const file = pinsFile(name);
  const comment = (await readFile(file, 'utf8')).split('\n').filter((line) => line.startsWith('#'));
  const lines = [...pins.keys()].sort().map((key) => `${pins.get(key) ?? ''}  ${key}`);
  await writeFile(file, [...comment, ...lines, ''].join('\n'));
}

/** Throws an Error where data is not what is pinned under a name. */
export function requirePinned(pins: Pins, name: string, data: Buffer): void {
  const [expected, found] = [pins.get(name), sha256(data)];
  if (found === expected) return;
  const instead = expected === undefined ? 'which is not pinned' : `not ${expected} as pinned`;
  throw new Error(`${name} has the sha256 ${found}, ${instead}: ${HOW_TO_ACCEPT}`);
}
