/** A line of a table: what was measured, and its values as a person reads them. */
export interface Row {
  readonly name: string;
  readonly values: readonly string[];
  /** What it should be; nothing where it only informs. */
  readonly aim?: string;
}

/** What a case found at one size. */
export interface Finding {
  readonly title: string;
  /** The names of the columns after the first one. */
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** Figures whose growth with the number of nodes is shown where the case ran at several sizes. */
  readonly growing: Readonly<Record<string, number>>;
  readonly nodes: number;
}

const NAME = 46;
const VALUE = 15;

/** A number with as many digits as a person needs. */
export function inFigures(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

function line(name: string, values: readonly string[], aim = ''): string {
  return `${`  ${name}`.padEnd(NAME)}${values.map((value) => value.padStart(VALUE)).join('')}${aim === '' ? '' : `   ${aim}`}`;
}

/** The finding as a table. */
export function tableOf({ title, columns, rows }: Finding): string {
  return [title, line('', columns), ...rows.map(({ name, values, aim }) => line(name, values, aim))].join('\n');
}

/** How the figures of a case grow from its smallest size to each larger one; empty for a single size. */
export function growthOf(findings: readonly Finding[]): string {
  const [first, ...others] = findings;
  if (first === undefined || others.length === 0) return '';
  const columns = others.map(({ nodes }) => `${nodes} ÷ ${first.nodes}`);
  const rows = Object.entries(first.growing).map(([name, from]) =>
    line(
      name,
      others.map(({ growing }) => inFigures((growing[name] ?? Number.NaN) / from)),
    ),
  );
  return [`growth with the number of nodes (1.00: none)`, line('', columns), ...rows].join('\n');
}
