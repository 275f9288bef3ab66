/** What goes wrong in a plan: one write or one event of one program, and what becomes of it. */

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
type Fate = (typeof WRITE_FATES)[number] | (typeof EVENT_FATES)[number];

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

/** One moment of a scenario, and what becomes of it. */
export interface Plan extends Moment {
  readonly scenario: string;
  readonly fate: Fate;
}

const PART = ' | ';

function isFate(text: string): text is Fate {
  return [...WRITE_FATES, ...EVENT_FATES].some((fate) => fate === text);
}

/** A plan on one line, as it is printed and read again. */
export function planText({ scenario, actor, what, nth, fate }: Plan): string {
  return [scenario, actor, `${what} #${nth}`, fate].join(PART);
}

/** Reads what `planText` writes. Throws where it is none. */
export function readPlan(text: string): Plan {
  const [scenario = '', actor = '', moment = '', fate = '', ...rest] = text.split(PART);
  const [, what, nth] = /^(.+) #(\d+)$/.exec(moment) ?? [];
  if (what === undefined || nth === undefined || rest.length > 0 || !isFate(fate)) {
    throw new Error(`not a plan, SCENARIO | PROGRAM | WHAT #N | FATE: ${text}`);
  }
  const kind = WRITE_FATES.some((each) => each === fate) ? 'write' : 'event';
  return { scenario, actor, kind, what, nth: Number(nth), fate };
}

/** All plans of the moments that were recorded in a scenario. */
export function plansOf(scenario: string, moments: readonly Moment[]): readonly Plan[] {
  return moments.flatMap((moment) => {
    const fates = moment.kind === 'write' ? WRITE_FATES : EVENT_FATES;
    return fates.map((fate): Plan => ({ scenario, ...moment, fate }));
  });
}
