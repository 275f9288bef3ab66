/** Draws a panel of the dashboard: a number, lines, or areas upon each other, with their names below. */
import { element, painted } from '../../src/cli/report/markup.ts';

/** A line of a panel: its name, and its points as [seconds since the epoch, value]. */
export interface PanelLine {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
  /** By Grafana's name; absent where the panel has none for it. */
  readonly colour?: string | undefined;
}

/** What a panel shows, and where it stands in the picture, in pixels. */
export interface DrawnPanel {
  readonly title: string;
  readonly kind: 'row' | 'stat' | 'lines' | 'stacked';
  readonly unit: string;
  readonly lines: readonly PanelLine[];
  readonly place: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
}

/** Grafana's names of colours, which can be told apart on light and on dark paper. */
const NAMED: Readonly<Record<string, string>> = {
  green: '#2e9e6b',
  red: '#d6455d',
  orange: '#e8a11c',
  blue: '#2f7ed8',
  purple: '#8a5cd6',
  text: '#7f8c9b',
};
/** Colours that can be told apart on light and on dark paper. */
const COLOURS = [
  '#2f7ed8',
  '#e8a11c',
  '#2e9e6b',
  '#d6455d',
  '#8a5cd6',
  '#1aa3b8',
  '#b8702a',
  '#7f8c9b',
  '#c457a8',
  '#6f9e1f',
];
const HEAD = 24;
const AXIS = 40;
const LEGEND_LINE = 15;
/** The width of a letter of a legend, about. */
const LETTER = 5.8;

/** A number with its unit, as short as on an axis. */
export function formatValue(value: number, unit: string): string {
  if (unit === 's')
    return value >= 3600 ? `${round(value / 3600)} h` : value >= 60 ? `${round(value / 60)} min` : `${round(value)} s`;
  if (unit === 'bytes') return `${round(value / 1024 / 1024)} MiB`;
  return value >= 10_000 ? `${round(value / 1000)} k` : round(value);
}

function round(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Math.round(value * 10) / 10);
}

/** The lines, of which each begins where the one before ends, where they are stacked. */
function stacked(lines: readonly PanelLine[]): readonly PanelLine[] {
  const sums = new Map<number, number>();
  return lines.map(({ points, ...line }) => ({
    ...line,
    points: points.map(([at, value]) => {
      const sum = (sums.get(at) ?? 0) + value;
      sums.set(at, sum);
      return [at, sum] as const;
    }),
  }));
}

/** The next number that an axis may end with. */
function ceiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return (([1, 2, 5, 10] as const).find((step) => step * power >= value) ?? 10) * power;
}

function colourOf(lines: readonly PanelLine[], index: number): string {
  return NAMED[lines[index]?.colour ?? ''] ?? COLOURS[index % COLOURS.length] ?? '';
}

/** The names of the lines, wrapped to the width; each is [column in pixels, line, index]. */
function legendOf(lines: readonly PanelLine[], width: number): readonly (readonly [number, number, number])[] {
  let [x, row] = [0, 0];
  return lines.map(({ name }, index) => {
    const needed = 20 + name.length * LETTER;
    if (x > 0 && x + needed > width) [x, row] = [0, row + 1];
    const found = [x, row, index] as const;
    x += needed;
    return found;
  });
}

function words(x: number, y: number, size: number, content: string, soft = false): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return element('text', { x, y, 'font-size': size, ...painted(soft ? 'soft' : 'ink') }, escaped);
}

function statOf({ title, unit, lines, place: { x, y, height } }: DrawnPanel, now: number): string {
  const [line] = lines;
  const value = line?.points.at(-1)?.[1];
  const isTime = unit === 'dateTimeFromNow';
  const left = isTime ? `in ${Math.round(((value ?? 0) / 1000 - now) / 86_400)} days` : formatValue(value ?? 0, unit);
  const colour =
    line?.colour === undefined || line.colour === 'text' ? painted('ink') : { fill: NAMED[line.colour] ?? '' };
  const number = element('text', { x: x + 10, y: y + height / 2 + 24, 'font-size': isTime ? 20 : 30, ...colour }, left);
  return words(x + 10, y + 18, 12, title) + number;
}

function graphOf(panel: DrawnPanel): string {
  const { title, kind, unit, place } = panel;
  const isStacked = kind === 'stacked';
  const lines = isStacked ? stacked(panel.lines) : panel.lines;
  const legend = legendOf(lines, place.width - 20);
  const rows = Math.max(1, ...legend.map(([, row]) => row + 1));
  const [left, top] = [place.x + AXIS + 8, place.y + HEAD + 6];
  const [width, height] = [place.width - AXIS - 18, place.height - HEAD - 14 - rows * LEGEND_LINE];
  const all = lines.flatMap(({ points }) => points);
  const most = ceiling(Math.max(0, ...all.map(([, value]) => value)));
  const [from, to] = [Math.min(...all.map(([at]) => at)), Math.max(...all.map(([at]) => at))];
  const xOf = (at: number): number => left + (width * (at - from)) / Math.max(1, to - from);
  const yOf = (value: number): number => top + height * (1 - value / most);
  const scale = [0, most / 2, most].map(
    (value) =>
      element('line', { x1: left, x2: left + width, y1: yOf(value), y2: yOf(value), ...painted('rule') }) +
      words(place.x + 6, yOf(value) + 4, 9.5, formatValue(value, unit), true),
  );
  const drawn = lines.map(({ points }, index) => {
    const colour = colourOf(lines, index);
    const path = points.map(([at, value]) => `${round2(xOf(at))},${round2(yOf(value))}`);
    const below = (
      index === 0 ? points.map(([at]) => [at, 0] as const) : (lines[index - 1]?.points ?? [])
    ).toReversed();
    const area = [...path, ...below.map(([at, value]) => `${round2(xOf(at))},${round2(yOf(value))}`)];
    const fill = isStacked ? element('polygon', { points: area.join(' '), fill: colour, 'fill-opacity': 0.35 }) : '';
    return fill + element('polyline', { points: path.join(' '), fill: 'none', stroke: colour, 'stroke-width': 1.6 });
  });
  const names = legend.map(([x, row, index]) => {
    const baseline = place.y + place.height - 8 - (rows - 1 - row) * LEGEND_LINE;
    const colour = colourOf(lines, index);
    const mark = element('rect', { x: place.x + 10 + x, y: baseline - 8, width: 9, height: 9, fill: colour });
    return mark + words(place.x + 23 + x, baseline, 10.5, lines[index]?.name ?? '', true);
  });
  return words(place.x + 10, place.y + 18, 12, title) + scale.join('') + drawn.join('') + names.join('');
}

function round2(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The panel as elements of SVG; `now` is the time of the picture in seconds since the epoch. */
export function drawPanel(panel: DrawnPanel, now: number): string {
  const { x, y, width, height } = panel.place;
  if (panel.kind === 'row') return words(x + 2, y + height - 8, 13, panel.title);
  const frame = element('rect', { x, y, width, height, rx: 4, ...painted('band') });
  return frame + (panel.kind === 'stat' ? statOf(panel, now) : graphOf(panel));
}
