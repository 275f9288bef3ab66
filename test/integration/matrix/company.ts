/** Plays many cells side by side. */
import { type Cell, nameOf } from './cells.ts';
import { judgeCalls, marksTakenBack } from './judge.ts';
import { type Company, play } from './play.ts';
import { createPlace, type Place } from './place.ts';
import { type MatrixRig, startLeaders } from './rig.ts';

/** What became of a cell. */
export interface Played {
  readonly cell: Cell;
  readonly ms: number;
  /** What is wrong, in sentences. */
  readonly found: readonly string[];
}

/** The words of an error, and of what caused it. */
function wordsOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message.trim()} (${cause.message.trim()})` : message.trim();
}

interface Outcome {
  readonly place: Place;
  readonly ms: number;
  readonly failure: readonly string[];
}

/**
 * Plays the cells in the cluster, and judges what the API server has seen of them. The cells in which another
 * controller leads wait for each other, and for the end of all others.
 */
export async function playAll(rig: MatrixRig, cells: readonly Cell[], places: Place[]): Promise<readonly Played[]> {
  const leaders = await startLeaders(rig);
  const own = cells.map((cell, index) => createPlace(rig, cell, `cell-${index}`));
  await rig.createNamespaces(own.map(({ id }) => id));
  places.push(...own);
  const changed = Promise.withResolvers<undefined>();
  const pending = new Set(own);
  const arrive = async (place: Place): Promise<void> => {
    pending.delete(place);
    if (pending.size > 0) return;
    if (own.some(({ cell }) => cell.ending === 'leader')) await leaders.change();
    changed.resolve(undefined);
  };
  const playOne = async (place: Place): Promise<Outcome> => {
    const begun = performance.now();
    const company: Company = {
      untilLeaderChanged: async () => {
        await arrive(place);
        await changed.promise;
      },
    };
    const failure = await play(place, company).then(
      () => [],
      (error: unknown) => [wordsOf(error)],
    );
    const ms = performance.now() - begun;
    if (pending.has(place)) await arrive(place);
    return { place, ms, failure };
  };
  const outcomes = await Promise.all(own.map(playOne));
  const calls = await rig.evictionCalls();
  await leaders.stop();
  return outcomes.map(({ place, ms, failure }) => {
    place.record.end();
    return { cell: place.cell, ms, found: [...failure, ...marksTakenBack(place), ...judgeCalls(place, calls)] };
  });
}

/** The table of what was played, and of what was found in it. */
export function tableOf(played: readonly Played[]): string {
  const rows = [...Map.groupBy(played, ({ cell }) => cell.sort)].map(([name, some]) => {
    const wrong = some.filter(({ found }) => found.length > 0).length;
    const slowest = Math.max(...some.map(({ ms }) => ms)) / 1_000;
    return `${name.padEnd(20)} ${String(some.length).padStart(6)} ${String(wrong).padStart(6)} ${slowest.toFixed(1).padStart(9)}`;
  });
  return ['which                 cells  wrong slowest/s', ...rows].join('\n');
}

/** What is wrong with a cell, and how it is played again. */
export function complaintOf({ cell, found }: Played): string {
  const name = nameOf(cell);
  const again = `NODEMAINT_MATRIX=${name} node test/run.ts test/integration/matrix/matrix.test.ts`;
  return [`${name}:`, ...found.map((each) => `  ${each}`), `  again: ${again}`].join('\n');
}
