/** Plays sequences of values of the chart: what the schema refuses, helm refuses by name, and what it allows, an API server takes. */
import { createRandom } from '../../chaos/random.ts';
import type { Json } from '../schema/schema.ts';
import { type Amount, differenceOf, seedOf, type Tally } from '../tally.ts';
import type { ChartProduct, Rendered } from './product.ts';
import { type Change, drawChange, valueAt, withValue } from './values.ts';

const CHANGES = 8;
const LONGEST = 700;

type Objects = ReadonlyMap<string, Rendered>;

/** One sequence under way. */
interface Play {
  readonly chart: ChartProduct;
  /** The objects without any values, which the API server takes. */
  readonly base: Objects;
  readonly tally: Tally;
  readonly sequence: number;
}

async function renderOr(chart: ChartProduct, values: Json): Promise<Objects | string> {
  return await chart.render(values).catch((error: unknown) => String(error).slice(-4_000));
}

function describe({ path, values, outside }: Change): string {
  const bad = outside === undefined ? '' : ` (${outside.rule} of ${outside.path.join('.')})`;
  return `${path.join('.')}=${JSON.stringify(valueAt(values, path))?.slice(0, LONGEST)}${bad}`;
}

function differentFrom(objects: Objects, base: Objects): readonly Rendered[] {
  return [...objects].flatMap(([name, object]) => (differenceOf(object, base.get(name)).length > 0 ? [object] : []));
}

/** Whether helm's words name the value: the key that is bad, or the one that holds it. */
function isNamed(refusal: string, { path, outside }: Change): boolean {
  const names = (outside?.path ?? path).filter((key) => typeof key === 'string');
  const isOfTemplate = refusal.includes('nil pointer') || refusal.includes('wrong type for value');
  return !isOfTemplate && names.slice(-2).some((name) => refusal.includes(name));
}

async function judgeAllowed(play: Play, change: Change, objects: Objects): Promise<void> {
  const { chart, base, tally, sequence } = play;
  if (change.outside !== undefined)
    tally.find('schema', sequence, `helm accepts what the schema refuses: ${describe(change)}`);
  const refusal = await chart.refusal(differentFrom(objects, base));
  if (refusal !== '') {
    tally.find(
      'schema',
      sequence,
      `the API server refuses what the schema allows, ${describe(change)}: ${refusal.slice(-LONGEST)}`,
    );
  }
  if (valueAt(change.values, change.path) !== null) return;
  // Null takes the default of the chart away, which has to mean the same as to leave the value alone.
  const without = await renderOr(chart, withValue(change.values, change.path, undefined) as Json);
  if (typeof without === 'string') return;
  const difference = differenceOf([...objects], [...without]);
  if (difference.length > 0) {
    tally.find(
      'taken back',
      sequence,
      `null is not as without the value, ${describe(change)}: ${difference.join('; ').slice(0, LONGEST)}`,
    );
  }
}

async function playSequence(play: Play, seed: number): Promise<void> {
  const { chart, tally, sequence } = play;
  const random = createRandom(seed);
  let values: Json = {};
  let last = play.base;
  for (let count = 0; count < CHANGES; count += 1) {
    const change = drawChange(chart.schema, values, random);
    const objects = await renderOr(chart, change.values);
    if (typeof objects === 'string') {
      tally.refused += 1;
      if (!isNamed(objects, change)) tally.find('message', sequence, `${describe(change)}: ${objects.slice(-LONGEST)}`);
      continue;
    }
    tally.allowed += 1;
    const before = tally.finds.length;
    await judgeAllowed(play, change, objects);
    // One bad value would be found again with each later change.
    if (tally.finds.length === before) [values, last] = [change.values, objects];
  }
  const alone = await renderOr(chart, values);
  const difference = typeof alone === 'string' ? [alone] : differenceOf([...last], [...alone]);
  if (difference.length > 0) tally.find('last alone', sequence, difference.join('; '));
}

/** Plays so many sequences. */
export async function playCharts(chart: ChartProduct, { sequences, seed }: Amount, tally: Tally): Promise<void> {
  const base = await chart.render({});
  for (let sequence = 1; sequence <= sequences; sequence += 1) {
    await playSequence({ chart, base, tally, sequence }, seedOf(seed, sequence));
    tally.sequences += 1;
  }
}
