import { counted } from '../../decide/counted.ts';
import { rfc3339 } from '../../decide/time.ts';
import { isOwnEnd, type Row, type Timeline } from '../../show/story/timeline.ts';
import { printable } from '../../printable.ts';
import { wrap } from '../terminal/lines.ts';
import { formatTable } from '../terminal/table.ts';
import { formatSpan } from '../../decide/duration.ts';
import { offsetText, outcomeText, partsOf, sentenceOf } from './words.ts';

const SIGNS = { ending: '█', interceptor: '▓', waiting: '░' } as const;
/** The least width of a bar, what stands between it and the name, and the least room for a name, in characters. */
const [BAR_WIDTH, BETWEEN, NAME_WIDTH] = [20, 12, 36];
/** Shorter waits would be listed with 0s. */
const LEAST_MS = 500;

/** A pod as a bar of `width` characters on the axis of the whole hold. */
function barOf({ spans, from, to }: Row, line: Timeline, width: number): string {
  const scale = width / Math.max(1, line.to - line.from);
  const columnOf = (at: number): number => Math.min(width - 1, Math.max(0, Math.floor((at - line.from) * scale)));
  const cells = Array.from({ length: width }, () => ' ');
  cells.fill('·', columnOf(from), columnOf(to) + 1);
  for (const span of spans) {
    cells.fill(SIGNS[span.kind], columnOf(span.from), Math.max(columnOf(span.from) + 1, columnOf(span.to)));
  }
  return cells.join('').trimEnd();
}

/** A name of at most `width` characters; of pods of one controller only the ends differ. */
function cutInside(name: string, width: number): string {
  if (name.length <= width) return name;
  const end = Math.ceil(width / 2);
  return `${name.slice(0, width - end - 3)}...${name.slice(-end)}`;
}

function indented(cells: readonly (readonly string[])[], columns: number): string {
  return formatTable(cells, columns - 2).replace(/^/gm, '  ');
}

/** The report of a shutdown as text for `columns` characters. */
export function formatReport(line: Timeline, columns: number): string {
  const longest = Math.max(0, ...line.tiers.flatMap(({ rows }) => rows.map(({ pod }) => printable(pod).length)));
  const nameWidth = Math.min(longest, Math.max(NAME_WIDTH, columns - BAR_WIDTH - BETWEEN));
  const width = Math.max(BAR_WIDTH, Math.min(100, columns - nameWidth - BETWEEN - 3));
  const facts = [
    ['Node:', line.node],
    ['Asked by:', `${line.reason} (${line.origin}, ${line.maintenance})`],
    ['Held:', `${rfc3339(line.from)} to ${rfc3339(line.to)}: ${outcomeText(line)}`],
    ...(line.awayMs === undefined ? [] : [['Away:', `${formatSpan(line.awayMs)}, until the agent was back`]]),
  ];
  const parts = partsOf(line).map(({ name, ms }) => [formatSpan(ms), name]);
  const causes = line.causes
    .filter((cause) => !isOwnEnd(cause) && cause.ms >= LEAST_MS)
    .map(({ ms, pods, text }) => [formatSpan(ms), counted(pods, 'pod', 'pods'), text]);
  const tiers = line.tiers.flatMap(({ name, from, to, rows }) => [
    `  ${printable(name)}, ${offsetText(from, line.from)} to ${offsetText(to, line.from)}`,
    ...rows.map((row) => {
      const took = `${formatSpan(row.to - row.from)}${row.gone ? '' : ', left'}`;
      return `    ${cutInside(printable(row.pod), nameWidth).padEnd(nameWidth)} ${took.padEnd(8)} ${barOf(row, line, width)}`.trimEnd();
    }),
  ]);
  const moments = line.moments.map(({ at, text }) => [rfc3339(at), text]);
  const blocks = [
    formatTable(facts, columns),
    wrap(sentenceOf(line), columns, 4).join('\n'),
    ...(parts.length === 0 ? [] : [indented(parts, columns)]),
    ...(causes.length === 0 ? [] : [`Waited for:\n${indented(causes, columns)}`]),
    ...(tiers.length === 0 ? [] : [`Pods (█ ends by itself, ▓ its interceptor acts, ░ waits):\n${tiers.join('\n')}`]),
    ...(line.podsLeftOut === 0 ? [] : [`${line.podsLeftOut} more pods are not recorded.`]),
    `What happened:\n${indented(moments, columns)}`,
  ];
  return `${blocks.join('\n\n')}\n`;
}
