/** What has been played so far, as lines of a file that is only ever appended to, and what comes next. */

export const KINDS = ['reboot', 'power cut'] as const;
/** A way for a machine to go down. */
export type Kind = (typeof KINDS)[number];

/** One time that the machine went down, in the order of the file. */
export interface Played {
  readonly kind: Kind;
  /** When it began, RFC 3339. */
  readonly at: string;
  /** Until everything was in order again, or until it was given up. */
  readonly seconds: number;
  /** For a power cut: how long after `systemctl reboot` it came. */
  readonly cutAfterSec?: number;
  /** Until the shell was back; not for a power cut. */
  readonly shellSec?: number;
  /** What was not in order; absent where everything was. */
  readonly failure?: string;
  readonly commit: string;
}

export type Wanted = Readonly<Record<Kind, number>>;

/** How often each kind was played. */
export function countsOf(played: readonly Played[]): Wanted {
  const count = (wanted: Kind): number => played.filter(({ kind }) => kind === wanted).length;
  return { reboot: count('reboot'), 'power cut': count('power cut') };
}

/** The kind that is furthest behind what is wanted, a reboot where both are equally far; undefined when all is played. */
export function nextKind(played: readonly Played[], wanted: Wanted): Kind | undefined {
  const done = countsOf(played);
  const open = KINDS.filter((kind) => done[kind] < wanted[kind]);
  const share = (kind: Kind): number => done[kind] / wanted[kind];
  return open.toSorted((one, other) => share(one) - share(other))[0];
}

/** The lines of the file; a last line that was cut off while it was written is not one. */
export function parseTally(text: string): readonly Played[] {
  const lines = text.split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Played);
}

const middleOf = (values: readonly number[]): string => {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted[Math.floor(sorted.length / 2)];
  return middle === undefined ? '-' : `${middle} s`;
};

/** A table for people: of each kind how many, how many in order, and how long it took. */
export function tableOf(played: readonly Played[], wanted: Wanted): string {
  const rows = KINDS.map((kind) => {
    const of = played.filter((each) => each.kind === kind);
    const inOrder = of.filter(({ failure }) => failure === undefined);
    const seconds = inOrder.map((each) => each.seconds);
    const longest = seconds.length === 0 ? '-' : `${Math.max(...seconds)} s`;
    return [kind, `${of.length} of ${wanted[kind]}`, String(inOrder.length), middleOf(seconds), longest];
  });
  const all = [['KIND', 'PLAYED', 'IN ORDER', 'MEDIAN', 'LONGEST'], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
