/** The time line of a shutdown as one picture without scripts, fonts or anything else from elsewhere. */
import { counted } from '../../decide/counted.ts';
import { formatSpan } from '../../decide/duration.ts';
import { printable } from '../../printable.ts';
import type { Row, Span, Timeline } from '../../show/story/timeline.ts';
import { cut } from '../terminal/lines.ts';
import { axisStepMs, offsetText, outcomeText, partsOf, sentenceOf } from './words.ts';

/** A text from outside as the content of an element or of an attribute in double quotes. */
function markup(text: string): string {
  return printable(text)
    .toWellFormed()
    .replaceAll(/[\uFFFE\uFFFF]/g, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** Attributes of an element. Values that are texts are escaped. */
type Attributes = Readonly<Record<string, string | number>>;

/** An element with content that is markup already. */
function element(name: string, attributes: Attributes, content = ''): string {
  const list = Object.entries(attributes).map(([key, value]) => {
    return ` ${key}="${typeof value === 'number' ? String(Math.round(value * 10) / 10) : markup(value)}"`;
  });
  return content === '' ? `<${name}${list.join('')}/>` : `<${name}${list.join('')}>${content}</${name}>`;
}

/** The classes of shapes: what is painted, its light colour, and its dark one. Texts without another class are `ink`. */
const PAINTS = {
  paper: ['fill', '#ffffff', '#12171e'],
  band: ['fill', '#f4f6f8', '#1a212b'],
  ink: ['fill', '#1b2430', '#e8edf3'],
  soft: ['fill', '#5b6775', '#9aa7b5'],
  track: ['fill', '#dfe4ea', '#2b3542'],
  rule: ['stroke', '#dfe4ea', '#2b3542'],
  ending: ['fill', '#2f7ed8', '#4f9bf0'],
  interceptor: ['fill', '#8a5cd6', '#a884ec'],
  waiting: ['fill', '#e8a11c', '#efb23c'],
  between: ['fill', '#b3bcc7', '#566273'],
  left: ['fill', '#d6455d', '#f0647c'],
  on: ['fill', '#ffffff', '#0d1218'],
  onwaiting: ['fill', '#3a2900', '#2b1e00'],
} as const satisfies Readonly<Record<string, readonly ['fill' | 'stroke', string, string]>>;

/** The attributes of a shape of this class: the class for style sheets, and its light colour for renderers that know none. */
function painted(name: keyof typeof PAINTS): Attributes {
  const [property, light] = PAINTS[name];
  return { class: name, [property]: light };
}

const DARK = Object.entries(PAINTS).map(([name, [property, , dark]]) => `.report .${name}{${property}:${dark}}`);

/** The style sheet of a picture: the dark colours lie on top where the reader's system asks for them. */
const STYLE = [
  '.report{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}',
  `@media (prefers-color-scheme:dark){\n${DARK.join('\n')}\n}`,
].join('\n');

const WIDTH = 1120;
const EDGE = 32;
const NAMES = 290;
const CHART = { x: EDGE + NAMES, width: WIDTH - 2 * EDGE - NAMES - 70 };
/** With more pods than this the rows are narrow. */
const MANY_ROWS = 60;
/** About the width of a character, as a share of the size of the font. */
const CHARACTER = 0.56;

/** The place of a time on the axis. */
type Scale = (at: number) => number;

function text(content: string, attributes: Attributes): string {
  return element('text', { ...painted('ink'), ...attributes }, markup(content));
}

/** Where a text stands, and how: the size of its font, and its class. */
function at(
  x: number,
  y: number,
  size: number,
  name: keyof typeof PAINTS = 'ink',
): Attributes & { 'font-size': number } {
  return { x, y, 'font-size': size, ...painted(name) };
}

/** A text that is cut to a width in pixels. */
function fitted(content: string, width: number, attributes: ReturnType<typeof at>): string {
  return text(
    cut(printable(content), Math.max(1, Math.floor(width / (attributes['font-size'] * CHARACTER)))),
    attributes,
  );
}

function rect(box: Attributes, name: keyof typeof PAINTS): string {
  return element('rect', { ...box, ...painted(name) });
}

function titled(title: string, content: string): string {
  return element('g', {}, `${element('title', {}, markup(title))}${content}`);
}

/** Where the rows begin, below the sentences, the legend and the times of the axis. */
const ROWS_TOP = 164;

/** What shutdown it was, how long it was held and why, and how it ended. */
function header(line: Timeline): string {
  const began = `${new Date(line.from).toISOString().slice(0, 19).replace('T', ' ')} UTC · ${line.reason}: ${outcomeText(line)}`;
  const outcome = line.podsLeft > 0 && line.outcome !== 'under way' ? 'left' : 'soft';
  const width = WIDTH - 2 * EDGE;
  return [
    fitted(`Shutdown of node ${line.node}`, width, { ...at(EDGE, 48, 24), 'font-weight': 600 }),
    fitted(began, width, at(EDGE, 72, 13, outcome)),
    fitted(sentenceOf(line), width, at(EDGE, 92, 13, 'soft')),
  ].join('');
}

/** The colours, each with the time that it took of the hold. */
function legend(line: Timeline): string {
  let x = EDGE;
  return partsOf(line)
    .map(({ name, kind, ms }) => {
      const words = `${name} ${formatSpan(ms)}`;
      const box = rect({ x, y: 110, width: 10, height: 10, rx: 2 }, kind);
      const entry = box + text(words, at(x + 16, 119, 12, 'soft'));
      x += 40 + words.length * 12 * CHARACTER;
      return entry;
    })
    .join('');
}

function spanShape(span: Span, scale: Scale, row: { readonly y: number; readonly height: number }): string {
  const x = scale(span.from);
  const width = Math.max(2, scale(span.to) - x);
  const bar = rect({ x, ...row, width, rx: Math.min(3, width / 2) }, span.kind);
  const isNamed = span.kind !== 'ending' && width > 90 && row.height >= 14;
  const place = at(x + 6, row.y + row.height - 4, 10, span.kind === 'waiting' ? 'onwaiting' : 'on');
  const words = isNamed ? fitted(span.text, width - 12, place) : '';
  return titled(`${formatSpan(span.to - span.from)}: ${span.text}`, bar + words);
}

function rowShape(row: Row, scale: Scale, y: number, height: number): string {
  const bar = { y: y + 2, height: height - 4 };
  const from = scale(row.from);
  const width = Math.max(2, scale(row.to) - from);
  const size = height >= 18 ? 12 : 9;
  const line = y + height / 2 + size * 0.36;
  const took = `${formatSpan(row.to - row.from)}${row.gone ? '' : ' left'}`;
  return [
    fitted(row.pod, NAMES - 24, at(EDGE + 12, line, size)),
    rect({ x: from, y: bar.y + bar.height / 2 - 1, height: 2, width }, 'track'),
    ...row.spans.map((span) => spanShape(span, scale, bar)),
    text(took, at(scale(row.to) + 6, line, size - 1, row.gone ? 'soft' : 'left')),
  ].join('');
}

/** The tiers: their grounds, what stands on them, and how high they are. */
function tiers(
  line: Timeline,
  scale: Scale,
): { readonly grounds: string; readonly body: string; readonly height: number } {
  const rows = line.tiers.reduce((sum, tier) => sum + tier.rows.length, 0);
  const height = rows > MANY_ROWS ? 12 : 22;
  let y = ROWS_TOP;
  const grounds: string[] = [];
  const body = line.tiers.map((tier) => {
    const all = 30 + tier.rows.length * height + 6;
    const took = `${offsetText(tier.from, line.from)} to ${offsetText(tier.to, line.from)}`;
    grounds.push(rect({ x: EDGE, y, width: WIDTH - 2 * EDGE, height: all, rx: 6 }, 'band'));
    const title = `${tier.name} · ${counted(tier.rows.length, 'pod', 'pods')} · ${took}`;
    const shapes = [
      fitted(title, 700, { ...at(EDGE + 12, y + 20, 12), 'font-weight': 600 }),
      ...tier.rows.map((row, index) => rowShape(row, scale, y + 28 + index * height, height)),
    ];
    y += all + 8;
    return shapes.join('');
  });
  return { height: y - ROWS_TOP, body: body.join(''), grounds: grounds.join('') };
}

/** The axis and its lines, behind the rows. */
function axis(line: Timeline, scale: Scale, height: number): string {
  const top = ROWS_TOP - 12;
  const step = axisStepMs(line.to - line.from, 8);
  const count = Math.floor((line.to - line.from) / step);
  return Array.from({ length: count + 1 }, (_, index) => {
    const time = line.from + index * step;
    const x = scale(time);
    const ends = { x1: x, x2: x, y1: top + 6, y2: top + height };
    const words = text(offsetText(time, line.from), { ...at(x, top, 11, 'soft'), 'text-anchor': 'middle' });
    return element('line', { ...ends, ...painted('rule'), 'stroke-width': 1 }) + words;
  }).join('');
}

/** The picture of a time line: an SVG document of its own. */
export function drawSvg(line: Timeline): string {
  const length = Math.max(1, line.to - line.from);
  const scale: Scale = (at) => CHART.x + (CHART.width * Math.min(length, Math.max(0, at - line.from))) / length;
  const rows = tiers(line, scale);
  const height = ROWS_TOP + rows.height + 16;
  const body = [
    element('title', {}, markup(`Shutdown of node ${line.node}`)),
    element('style', {}, STYLE),
    rect({ width: WIDTH, height, rx: 10 }, 'paper'),
    header(line),
    legend(line),
    rows.grounds,
    axis(line, scale, rows.height),
    rows.body,
  ].join('\n');
  const frame = { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${WIDTH} ${height}` };
  return `${element('svg', { ...frame, width: WIDTH, height, class: 'report', role: 'img' }, body)}\n`;
}
