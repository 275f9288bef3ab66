/** The coordinates of the matrix: what a pod is, how its drain ends, what its budget says. */
import process from 'node:process';

export const SORTS = ['interceptor', 'takeover', 'promise', 'none'] as const;
export const ENDINGS = ['completed', 'canceled', 'withdrawn', 'deleted', 'held', 'leader', 'second'] as const;
export const BUDGETS = ['open', 'closed', 'later'] as const;

/**
 * How the pod leaves: after an interceptor, by its controller (ControllerTakeOver), in the background (KEP-1397), or by the
 * Eviction API alone.
 */
export type Sort = (typeof SORTS)[number];
/**
 * What happens while the pod is asked to leave: nothing; the maintenance is set to Complete; a requester who is no drain withdraws;
 * the request is deleted; it is deleted and held by a finalizer of somebody else; another controller leads; the drain is called
 * off, and another one follows.
 */
export type Ending = (typeof ENDINGS)[number];
/** Whether the PodDisruptionBudget lets the pod go: at once, never, or after it has refused. */
export type Budget = (typeof BUDGETS)[number];

/** One history of the matrix. */
export interface Cell {
  readonly sort: Sort;
  readonly ending: Ending;
  readonly budget: Budget;
}

/** The three coordinates with slashes between, by which a person names the cell. */
export function nameOf({ sort, ending, budget }: Cell): string {
  return [sort, ending, budget].join('/');
}

/** Whether the pod goes by the Eviction API at once: nothing can happen while it is asked. */
export function isImmediate(cell: Cell): boolean {
  return cell.budget === 'open' && cell.sort === 'none';
}

/** Why there is no such cell; undefined where there is one. */
export function whyLeftOut(cell: Cell): string | undefined {
  const { sort, ending, budget } = cell;
  const isOfRequest = ending === 'withdrawn' || ending === 'deleted' || ending === 'held';
  if (isImmediate(cell) && isOfRequest) return 'the pod is told to end before anybody can do anything to the request';
  if (budget === 'later' && (sort === 'takeover' || sort === 'promise')) return 'no budget is asked for the pod';
  return undefined;
}

const ALL: readonly Cell[] = SORTS.flatMap((sort) =>
  ENDINGS.flatMap((ending) => BUDGETS.map((budget): Cell => ({ sort, ending, budget }))),
);

/** Every cell that makes sense. */
export const CELLS = ALL.filter((cell) => whyLeftOut(cell) === undefined);

/** Which cells are played, and why these. */
export interface Choice {
  readonly cells: readonly Cell[];
  readonly why: string;
}

/** The cells to play: those that NODEMAINT_MATRIX names, with commas between, where `*` is any value; else all of them. */
export function chooseCells(environment: NodeJS.ProcessEnv = process.env): Choice {
  const { NODEMAINT_MATRIX: wanted } = environment;
  if (wanted === undefined) return { cells: CELLS, why: 'all of them' };
  const patterns = wanted.split(',').map((pattern) => pattern.split('/'));
  const isWanted = (cell: Cell): boolean =>
    patterns.some((parts) =>
      nameOf(cell)
        .split('/')
        .every((value, index) => parts[index] === '*' || parts[index] === value),
    );
  return { cells: CELLS.filter(isWanted), why: `NODEMAINT_MATRIX=${wanted}` };
}
