/** The coordinates of the matrix: what a pod is, in which dialect it is asked, how its drain ends, what its budget says. */
import process from 'node:process';

export const DIALECTS = ['older', 'newer'] as const;
export const SORTS = ['interceptor', 'takeover', 'promise', 'single', 'all', 'surge', 'none'] as const;
export const ENDINGS = ['completed', 'canceled', 'withdrawn', 'deleted', 'held', 'leader', 'second'] as const;
export const BUDGETS = ['open', 'closed', 'later'] as const;

/** `EvictionRequest` of our group, or that of lifecycle.k8s.io. */
export type Dialect = (typeof DIALECTS)[number];
/**
 * How the pod leaves: after an interceptor, by its controller (ControllerTakeOver), in the background (KEP-1397), with a PodGroup
 * whose pods leave each by itself or all together, after another pod of its Deployment, or by the Eviction API alone.
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
  readonly dialect: Dialect;
  readonly sort: Sort;
  readonly ending: Ending;
  readonly budget: Budget;
}

/** The four coordinates with slashes between, by which a person names the cell. */
export function nameOf({ dialect, sort, ending, budget }: Cell): string {
  return [dialect, sort, ending, budget].join('/');
}

/** Whether the pods of the cell are of a PodGroup: they have no requests. */
export function isGrouped({ sort }: Cell): boolean {
  return sort === 'single' || sort === 'all';
}

/** Whether the pod goes by the Eviction API at once: nothing can happen while it is asked. */
export function isImmediate(cell: Cell): boolean {
  return cell.budget === 'open' && (cell.sort === 'none' || isGrouped(cell));
}

/** Why there is no such cell; undefined where there is one. */
export function whyLeftOut(cell: Cell): string | undefined {
  const { sort, ending, budget } = cell;
  const isOfRequest = ending === 'withdrawn' || ending === 'deleted' || ending === 'held';
  if (isGrouped(cell) && isOfRequest) return 'pods of groups have no requests';
  if (isImmediate(cell) && isOfRequest) return 'the pod is told to end before anybody can do anything to the request';
  if (budget === 'later' && ['takeover', 'promise', 'surge'].includes(sort)) return 'no budget is asked for the pod';
  return undefined;
}

const ALL: readonly Cell[] = DIALECTS.flatMap((dialect) =>
  SORTS.flatMap((sort) =>
    ENDINGS.flatMap((ending) => BUDGETS.map((budget): Cell => ({ dialect, sort, ending, budget }))),
  ),
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
