/** The time line of a shutdown as one picture without scripts, fonts or anything else from elsewhere. */
import { counted } from '../../decide/counted.ts';
import { formatSpan } from '../../decide/duration.ts';
import { printable } from '../../printable.ts';
import type { Row, Span, Timeline } from '../../show/story/timeline.ts';
import { cut } from '../terminal/paint.ts';
import { axisStepMs, offsetText, outcomeText, partsOf, sentenceOf, sharesOf, titleOf } from './words.ts';

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

interface Scale {
  readonly xOf: (at: number) => number;
}

function text(content: string, attributes: Attributes): string {
  return element('text', { ...painted('ink'), ...attributes }, markup(content));
}

/** A text that is cut to a width in pixels. */
function fitted(content: string, width: number, size: number, attributes: Attributes): string {
  return text(cut(printable(content), Math.max(1, Math.floor(width / (size * CHARACTER)))), {
    'font-size': size,
    ...attributes,
  });
}

function titled(title: string, content: string): string {
  return element('g', {}, `${element('title', {}, markup(title))}${content}`);
}

/** Part of a picture, and how high it is. */
interface Block {
  readonly body: string;
  readonly height: number;
}

function header(line: Timeline): Block {
  const { heldMs } = line.spent;
  const { ownMs, addedMs } = sharesOf(line);
  const width = WIDTH - 2 * EDGE;
  const figures = [
    [formatSpan(heldMs), 'held'],
    [formatSpan(ownMs), 'the applications’ own time'],
    [formatSpan(addedMs), 'added by the hold'],
    [String(line.pods), line.pods === 1 ? 'pod' : 'pods'],
    ...(line.awayMs === undefined ? [] : [[formatSpan(line.awayMs), 'until the node was back']]),
  ].map(([value = '', what = ''], index) => {
    const x = EDGE + index * 200;
    return (
      text(value, { x, y: 140, 'font-size': 26, 'font-weight': 600 }) +
      text(what, { x, y: 160, 'font-size': 12, ...painted('soft') })
    );
  });
  const outcome = line.podsLeft > 0 && line.outcome !== 'under way' ? 'left' : 'soft';
  return {
    height: 184,
    body: [
      fitted(titleOf(line), width, 24, { x: EDGE, y: 48, 'font-weight': 600 }),
      fitted(`${new Date(line.from).toISOString().slice(0, 19).replace('T', ' ')} UTC · ${line.reason}`, width, 13, {
        x: EDGE,
        y: 72,
        ...painted('soft'),
      }),
      fitted(outcomeText(line), width, 13, { x: EDGE, y: 92, ...painted(outcome) }),
      ...figures,
    ].join(''),
  };
}

/** Where the time of the hold went, as one bar and its legend. */
function parts(line: Timeline, top: number): Block {
  const width = WIDTH - 2 * EDGE;
  const all = partsOf(line);
  const sum = Math.max(
    1,
    all.reduce((total, { ms }) => total + ms, 0),
  );
  let x = EDGE;
  const bars = all.map(({ name, kind, ms }) => {
    const size = (width * ms) / sum;
    const bar = element('rect', { x, y: top, width: Math.max(1, size - 1), height: 18, rx: 3, ...painted(kind) });
    x += size;
    return titled(`${formatSpan(ms)}: ${name}`, bar);
  });
  let legendX = EDGE;
  const legend = all.map(({ name, kind, ms }) => {
    const words = `${name} ${formatSpan(ms)}`;
    const entry =
      element('rect', { x: legendX, y: top + 30, width: 10, height: 10, rx: 2, ...painted(kind) }) +
      text(words, { x: legendX + 16, y: top + 39, 'font-size': 12, ...painted('soft') });
    legendX += 40 + words.length * 12 * CHARACTER;
    return entry;
  });
  return { height: 64, body: [...bars, ...legend].join('') };
}

function spanShape(span: Span, scale: Scale, row: { readonly y: number; readonly height: number }): string {
  const x = scale.xOf(span.from);
  const width = Math.max(2, scale.xOf(span.to) - x);
  const rect = element('rect', {
    x,
    y: row.y,
    width,
    height: row.height,
    rx: Math.min(3, width / 2),
    ...painted(span.kind),
  });
  const isNamed = span.kind !== 'ending' && width > 90 && row.height >= 14;
  const words = isNamed
    ? fitted(span.text, width - 12, 10, {
        x: x + 6,
        y: row.y + row.height - 4,
        ...painted(span.kind === 'waiting' ? 'onwaiting' : 'on'),
      })
    : '';
  return titled(`${formatSpan(span.to - span.from)}: ${span.text}`, rect + words);
}

function rowShape(row: Row, scale: Scale, y: number, height: number): string {
  const bar = { y: y + 2, height: height - 4 };
  const from = scale.xOf(row.from);
  const track = element('rect', {
    x: from,
    y: bar.y + bar.height / 2 - 1,
    height: 2,
    width: Math.max(2, scale.xOf(row.to) - from),
    ...painted('track'),
  });
  const size = height >= 18 ? 12 : 9;
  const took = `${formatSpan(row.to - row.from)}${row.gone ? '' : ' left'}`;
  const end = scale.xOf(row.to) + 6;
  return [
    fitted(row.pod, NAMES - 24, size, { x: EDGE + 12, y: y + height / 2 + size * 0.36 }),
    track,
    ...row.spans.map((span) => spanShape(span, scale, bar)),
    text(took, {
      x: end,
      y: y + height / 2 + size * 0.36,
      'font-size': size - 1,
      ...painted(row.gone ? 'soft' : 'left'),
    }),
  ].join('');
}

/** The tiers: their grounds, and what stands on them. */
function tiers(line: Timeline, scale: Scale, top: number): Block & { readonly grounds: string } {
  const rows = line.tiers.reduce((sum, tier) => sum + tier.rows.length, 0);
  const height = rows > MANY_ROWS ? 12 : 22;
  let y = top;
  const grounds: string[] = [];
  const body = line.tiers.map((tier) => {
    const all = 30 + tier.rows.length * height + 6;
    const took = `${offsetText(tier.from, line.from)} to ${offsetText(tier.to, line.from)}`;
    grounds.push(element('rect', { x: EDGE, y, width: WIDTH - 2 * EDGE, height: all, rx: 6, ...painted('band') }));
    const shapes = [
      fitted(`${tier.name} · ${counted(tier.rows.length, 'pod', 'pods')} · ${took}`, 700, 12, {
        x: EDGE + 12,
        y: y + 20,
        'font-weight': 600,
      }),
      ...tier.rows.map((row, index) => rowShape(row, scale, y + 28 + index * height, height)),
    ];
    y += all + 8;
    return shapes.join('');
  });
  return { height: y - top, body: body.join(''), grounds: grounds.join('') };
}

/** The axis and its lines, behind the rows. */
function axis(line: Timeline, scale: Scale, top: number, height: number): string {
  const step = axisStepMs(line.to - line.from, 8);
  const count = Math.floor((line.to - line.from) / step);
  return Array.from({ length: count + 1 }, (_, index) => {
    const at = line.from + index * step;
    const x = scale.xOf(at);
    const rule = element('line', {
      x1: x,
      x2: x,
      y1: top + 6,
      y2: top + height,
      ...painted('rule'),
      'stroke-width': 1,
    });
    const words = text(offsetText(at, line.from), {
      x,
      y: top,
      'font-size': 11,
      'text-anchor': 'middle',
      ...painted('soft'),
    });
    return rule + words;
  }).join('');
}

/** At most this many moments are listed in the picture; a report as text or JSON has all of them. */
const MAX_MOMENTS = 24;

function moments(line: Timeline, top: number): Block {
  const shown = line.moments.slice(0, MAX_MOMENTS);
  const body = shown.map(({ at, text: words }, index) => {
    const y = top + 24 + index * 18;
    return (
      text(at < line.from ? '' : offsetText(at, line.from), { x: EDGE + 12, y, 'font-size': 12, ...painted('soft') }) +
      fitted(words, WIDTH - 2 * EDGE - 110, 12, { x: EDGE + 100, y })
    );
  });
  const more = line.moments.length - shown.length;
  const rest =
    more > 0
      ? text(`and ${more} more`, {
          x: EDGE + 100,
          y: top + 24 + shown.length * 18,
          'font-size': 12,
          ...painted('soft'),
        })
      : '';
  const head = text('What happened', { x: EDGE, y: top, 'font-size': 14, 'font-weight': 600 });
  return { height: 40 + shown.length * 18 + (more > 0 ? 18 : 0), body: [head, ...body, rest].join('') };
}

/** The picture of a time line: an SVG document of its own. */
export function drawSvg(line: Timeline): string {
  const length = Math.max(1, line.to - line.from);
  const scale: Scale = {
    xOf: (at) => CHART.x + (CHART.width * Math.min(length, Math.max(0, at - line.from))) / length,
  };
  const head = header(line);
  const share = parts(line, head.height);
  const top = head.height + share.height + 24;
  const rows = tiers(line, scale, top + 12);
  const list = moments(line, top + 12 + rows.height + 28);
  const height = top + 12 + rows.height + 28 + list.height;
  const body = [
    element('title', {}, markup(titleOf(line))),
    element('desc', {}, markup(sentenceOf(line))),
    element('style', {}, STYLE),
    element('rect', { width: WIDTH, height, rx: 10, ...painted('paper') }),
    head.body,
    share.body,
    rows.grounds,
    axis(line, scale, top, rows.height),
    rows.body,
    list.body,
  ].join('\n');
  const frame = { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${WIDTH} ${Math.ceil(height)}` };
  return `${element('svg', { ...frame, width: WIDTH, height: Math.ceil(height), class: 'report', role: 'img' }, body)}\n`;
}
