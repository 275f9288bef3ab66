/** How many machines that are asked to reboot go down at once. Each of the others waits, schedulable, until a place is free. */
import { counted } from '../counted.ts';
import { firstNames } from '../name-list.ts';

/** So many machines at once, or this share of the nodes in percent: at least one. */
type RebootLimit =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number };

export const DEFAULT_REBOOT_LIMIT = '10%';

/** A machine that keeps its place for longer, because it does not come back or its pods stay, is not waited for. */
export const REBOOT_TERM_MS = 30 * 60_000;

const MAX_NAMED = 5;

/** Reads a number of at least one, or a percentage; undefined for another text. */
export function parseRebootLimit(text: string): RebootLimit | undefined {
  if (/^[1-9]\d{0,5}$/.test(text)) return { kind: 'count', count: Number(text) };
  const percent = /^([1-9]\d?|100)%$/.exec(text)?.[1];
  return percent === undefined ? undefined : { kind: 'percent', percent: Number(percent) };
}

/** How many places the limit gives in a cluster of so many nodes. */
export function placesOf(limit: RebootLimit, nodes: number): number {
  return limit.kind === 'count' ? limit.count : Math.max(1, Math.floor((nodes * limit.percent) / 100));
}

/** A machine that is asked to reboot and has not begun. */
export interface AskedReboot {
  readonly node: string;
  /** When the oldest of its requests was made, in milliseconds since the epoch. */
  readonly askedAt: number;
}

/** The nodes that have to wait, in the order in which they were asked for, and why. `holders` are the nodes with a place. */
export function rebootsOverLimit(
  asked: readonly AskedReboot[],
  holders: ReadonlySet<string>,
  places: number,
): ReadonlyMap<string, string> {
  const taken = new Set(holders);
  const waiting = new Map<string, string>();
  const inOrder = asked.toSorted((a, b) =>
    a.askedAt === b.askedAt ? (a.node < b.node ? -1 : 1) : a.askedAt - b.askedAt,
  );
  for (const { node } of inOrder) {
    if (taken.size < places || taken.has(node)) taken.add(node);
    else waiting.set(node, describeWait([...taken], places));
  }
  return waiting;
}

function describeWait(holders: readonly string[], places: number): string {
  const names = firstNames(holders.toSorted(), MAX_NAMED);
  return `Waiting for its turn to reboot: ${names} first, at most ${counted(places, 'machine', 'machines')} at once.`;
}
