/** Plays sequences of changes of the agent's configuration, and judges them by the three oracles and by what is said of bad values. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { errorCodeOf } from '../../../src/errors.ts';
import { createRandom } from '../../chaos/random.ts';
import type { Schema } from '../schema/schema.ts';
import { type Amount, differenceOf, seedOf, type Tally } from '../tally.ts';
import {
  type Change,
  drawChange,
  type Files,
  FIRST_FILES,
  isHead,
  isReplaced,
  MAIN_FILE,
  textOf,
  writeFiles,
} from './files.ts';
import type { ConfigurationProduct } from './product.ts';

const CHANGES = 12;

/** What comes of a start of the agent with the files: its effective configuration, or why it does not start. */
type Start = { readonly config: string } | { readonly refusal: string };

/** One sequence under way. */
interface Play {
  readonly product: ConfigurationProduct;
  readonly schema: Schema;
  readonly folder: string;
  readonly tally: Tally;
  readonly sequence: number;
}

async function startIn(folder: string, { load }: ConfigurationProduct): Promise<Start> {
  try {
    return { config: JSON.stringify(await load(path.join(folder, MAIN_FILE))) };
  } catch (error) {
    if (errorCodeOf(error) !== 'CONFIG_INVALID' || !(error instanceof Error)) throw error;
    return { refusal: error.message };
  }
}

/** The same files alone, in a folder in which there was nothing before. */
async function startAlone(files: Files, product: ConfigurationProduct): Promise<Start> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-alone-'));
  try {
    await writeFiles(folder, files);
    return await startIn(folder, product);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the refusal of a bad value does not say, though it should; undefined where it says the file, the line and the key. */
export function unsaid(refusal: string, { files, file, outside }: Change): string | undefined {
  if (outside === undefined) return undefined;
  if (!refusal.includes(file)) return `the file ${file}`;
  if (isHead(outside)) return undefined;
  const keys = outside.path.filter((key) => typeof key === 'string');
  const key = keys.at(-1) ?? '';
  if (!refusal.includes(key)) return `the key ${key}`;
  const lines = textOf(files.get(file) ?? {}).split('\n');
  const numbers = [...refusal.matchAll(/\.yaml:(\d+): /g)].map(([, line]) => Number(line));
  // The line of an entry of a list follows that of its key.
  const isAt = (line: number): boolean => keys.some((each) => lines[line]?.includes(each) === true);
  const isPlaced = numbers.some((number) => isAt(number - 1) || isAt(number - 2));
  // A file without the key has no line for it: its name is the place.
  return isPlaced || outside.rule === 'required' ? undefined : `the line of ${key}`;
}

function describe(change: Change): string {
  const { outside, file, files } = change;
  const bad = outside === undefined ? '' : `, ${outside.rule} of ${outside.path.join('.')}`;
  return `${file}${bad}: ${JSON.stringify(files.get(file))?.slice(0, 400)}`;
}

/** A start with a bad value, and then without it; `before` is what the agent runs with. */
async function judgeRefused(play: Play, change: Change, before: Files, running: string): Promise<void> {
  const { tally, sequence, folder, product } = play;
  const again = await startIn(folder, product);
  if (!('refusal' in again))
    tally.find('refused leaves no mark', sequence, `is accepted at the second start: ${describe(change)}`);
  await writeFiles(folder, before);
  const back = await startIn(folder, product);
  if ('config' in back && back.config === running) return;
  const why = 'config' in back ? differenceOf(JSON.parse(running), JSON.parse(back.config)).join('; ') : back.refusal;
  tally.find('taken back', sequence, `${why} after ${describe(change)}`);
}

/** Plays one sequence in a folder of its own. */
async function playSequence(play: Play, seed: number): Promise<void> {
  const { product, schema, folder, tally, sequence } = play;
  const random = createRandom(seed);
  let files = FIRST_FILES;
  await writeFiles(folder, files);
  const first = await startIn(folder, product);
  let running = 'config' in first ? first.config : '';
  for (let count = 0; count < CHANGES; count += 1) {
    const change = drawChange(schema, files, random);
    await writeFiles(folder, change.files);
    const start = await startIn(folder, product);
    if ('config' in start) {
      tally.allowed += 1;
      if (change.outside !== undefined && !isReplaced(change)) {
        tally.find('schema', sequence, `the program accepts what the schema refuses: ${describe(change)}`);
      }
      [files, running] = [change.files, start.config];
      continue;
    }
    tally.refused += 1;
    const missing = unsaid(start.refusal, change);
    if (missing !== undefined)
      tally.find('message', sequence, `${start.refusal} does not say ${missing}: ${describe(change)}`);
    await judgeRefused(play, change, files, running);
  }
  const alone = await startAlone(files, product);
  if ('config' in alone && alone.config === running) return;
  const why =
    'config' in alone ? differenceOf(JSON.parse(running), JSON.parse(alone.config)).join('; ') : alone.refusal;
  tally.find('last alone', sequence, why);
}

/** Plays so many sequences. */
export async function playConfigurations(
  product: ConfigurationProduct,
  { sequences, seed }: Amount,
  tally: Tally,
): Promise<void> {
  const schema = product.schema();
  for (let sequence = 1; sequence <= sequences; sequence += 1) {
    const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-differential-'));
    try {
      await playSequence({ product, schema, folder, tally, sequence }, seedOf(seed, sequence));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    tally.sequences += 1;
  }
}
