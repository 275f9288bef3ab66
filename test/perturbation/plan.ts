/** What goes wrong in a plan: one write or one event of one program, and what becomes of it; in a pair, two of them. */

import type { Random } from '../chaos/random.ts';

/**
 * What becomes of a write: the program ends before it; or after it; or goes on, and is told that the API server cannot be reached
 * although the write was carried out.
 */
export const WRITE_FATES = ['crash before', 'crash after', 'answer lost'] as const;
/**
 * What becomes of an event: its watch stands still until the program has written again; or it is left out because a later event
 * of the same object tells the present state; or its watch ends before it, and a list tells it; or its watch ends and the next list
 * is from the past.
 */
export const EVENT_FATES = ['held', 'skipped', 'told by a list', 'list from the past'] as const;
export type Fate = (typeof WRITE_FATES)[number] | (typeof EVENT_FATES)[number];

/** A write or an event of a program, by what it is about and how often that was so before. */
export interface Moment {
  /** The program, such as `controller`. */
  readonly actor: string;
  readonly kind: 'write' | 'event';
  /** Such as `PATCH nodes/n1` or `pods/p0`; the names do not have what differs from run to run. */
  readonly what: string;
  /** Counted from 1, over restarts of the program too. */
  readonly nth: number;
}

/** One moment, and what becomes of it. */
export interface Perturbation extends Moment {
  readonly fate: Fate;
}

/** What goes wrong in one play of a scenario. */
export interface Plan {
  readonly scenario: string;
  /** One, or a pair in the order of the recording. */
  readonly perturbations: readonly Perturbation[];
}

const PART = ' | ';

function isFate(text: string): text is Fate {
  return [...WRITE_FATES, ...EVENT_FATES].some((fate) => fate === text);
}

/** A plan on one line, as it is printed and read again: the scenario, then program, moment and fate of each perturbation. */
export function planText({ scenario, perturbations }: Plan): string {
  return [scenario, ...perturbations.flatMap(({ actor, what, nth, fate }) => [actor, `${what} #${nth}`, fate])].join(
    PART,
  );
}

function readPerturbation(actor: string, moment: string, fate: string): Perturbation | undefined {
  const [, what, nth] = /^(.+) #(\d+)$/.exec(moment) ?? [];
  if (what === undefined || nth === undefined || !isFate(fate)) return undefined;
  const kind = WRITE_FATES.some((each) => each === fate) ? 'write' : 'event';
  return { actor, kind, what, nth: Number(nth), fate };
}

/** Reads what `planText` writes. Throws where it is none. */
export function readPlan(text: string): Plan {
  const [scenario = '', ...parts] = text.split(PART);
  const perturbations: (Perturbation | undefined)[] = [];
  for (let at = 0; at < Math.max(parts.length, 1); at += 3) {
    perturbations.push(readPerturbation(parts[at] ?? '', parts[at + 1] ?? '', parts[at + 2] ?? ''));
  }
  const read = perturbations.filter((each) => each !== undefined);
  if (read.length === perturbations.length) return { scenario, perturbations: read };
  throw new Error(
    `not a plan, SCENARIO | PROGRAM | WHAT #N | FATE and perhaps a second PROGRAM | WHAT #N | FATE: ${text}`,
  );
}

function perturbationsOf(moments: readonly Moment[]): readonly Perturbation[] {
  return moments.flatMap((moment) => {
    const fates = moment.kind === 'write' ? WRITE_FATES : EVENT_FATES;
    return fates.map((fate): Perturbation => ({ ...moment, fate }));
  });
}

/** All plans of the moments that were recorded in a scenario, in each of which one thing goes wrong. */
export function plansOf(scenario: string, moments: readonly Moment[]): readonly Plan[] {
  return perturbationsOf(moments).map((each) => ({ scenario, perturbations: [each] }));
}

/** Draws so many plans in which two things go wrong, of other moments; the same pair may be drawn twice. */
export function drawPairs(
  scenario: string,
  moments: readonly Moment[],
  count: number,
  random: Random,
): readonly Plan[] {
  const all = perturbationsOf(moments);
  const draw = (): number => random.whole(all.length);
  return Array.from({ length: all.length < 2 ? 0 : count }, () => {
    const [one, other] = [draw(), draw()].toSorted((a, b) => a - b);
    const perturbations = [one, other].flatMap((at) => all[at ?? 0] ?? []);
    return { scenario, perturbations };
  });
}
