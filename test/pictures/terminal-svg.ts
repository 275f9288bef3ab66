/** Draws what a terminal shows, as one file that loads nothing and follows the light or dark colours of the reader's system. */
import { type Attributes, element, markup } from '../../src/cli/report/markup.ts';
import { colourRules, type Paint, type Scheme } from '../../src/cli/report/colours.ts';
import type { Run } from './screen.ts';

const SIZE = 13;
const LINE = 19;
/** The width of a character of a monospaced font of this size: the drawn text is stretched to it. */
const CHARACTER = 7.8;
const EDGE = 20;
const BAR = 34;

type Colour = 'paper' | 'ink' | 'soft' | 'edge' | 'green' | 'yellow' | 'red';

const COLOURS: Scheme<Colour> = {
  light: {
    paper: '#ffffff',
    ink: '#1f2328',
    soft: '#6e7781',
    edge: '#d0d7de',
    green: '#1a7f37',
    yellow: '#9a6700',
    red: '#cf222e',
  },
  dark: {
    paper: '#0d1117',
    ink: '#e6edf3',
    soft: '#8b949e',
    edge: '#30363d',
    green: '#3fb950',
    yellow: '#d29922',
    red: '#f85149',
  },
};
const PAINTS: readonly Paint<Colour>[] = [
  ['.paper', 'fill', 'paper'],
  ['.paper,.edge', 'stroke', 'edge'],
  ['.dot', 'fill', 'edge'],
  ['text', 'fill', 'ink'],
  ['.soft,.dim', 'fill', 'soft'],
  ['.green', 'fill', 'green'],
  ['.yellow', 'fill', 'yellow'],
  ['.red', 'fill', 'red'],
];
const STYLE = [
  `.terminal{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:${SIZE}px}`,
  colourRules(COLOURS, PAINTS),
  '.bold{font-weight:700}',
].join('\n');
const { light: LIGHT } = COLOURS;

function words(runs: readonly Run[], y: number): string {
  let column = 0;
  const parts = runs.map(({ text, bold, dim, colour }) => {
    const classes = [bold ? 'bold' : '', dim ? 'dim' : '', colour ?? ''].filter((name) => name !== '').join(' ');
    // Renderers take spaces at the beginning away, also those that do not break: the text begins where its words begin.
    const shown = text.trimStart();
    const indent = text.length - shown.length;
    const place: Attributes = { x: EDGE + (column + indent) * CHARACTER, y, textLength: shown.length * CHARACTER };
    column += text.length;
    if (shown === '') return '';
    const fill = LIGHT[colour ?? (dim ? 'soft' : 'ink')];
    // Renderers join spaces, whatever a style says of them.
    const content = shown.split(' ').map(markup).join('\u00A0');
    return element('text', { ...place, fill, ...(classes === '' ? {} : { class: classes }) }, content);
  });
  return parts.join('');
}

/** A terminal of `columns` characters that shows these lines below the command that was typed. */
export function drawTerminal(
  command: string,
  lines: readonly (readonly Run[])[],
  { columns, title }: { readonly columns: number; readonly title: string },
): string {
  const prompt: Run = { text: '$ ', bold: false, dim: true, colour: undefined };
  const all = [[prompt, { text: command, bold: true, dim: false, colour: undefined }], ...lines];
  const width = Math.ceil(2 * EDGE + columns * CHARACTER);
  const height = BAR + EDGE + all.length * LINE + EDGE / 2;
  const dots = [0, 1, 2].map((index) =>
    element('circle', { cx: EDGE + index * 18, cy: BAR / 2, r: 5, fill: LIGHT.edge, class: 'dot' }),
  );
  const body = [
    element('title', {}, markup(title)),
    element('style', {}, STYLE),
    element('rect', {
      x: 0.5,
      y: 0.5,
      width: width - 1,
      height: height - 1,
      rx: 9,
      fill: LIGHT.paper,
      stroke: LIGHT.edge,
      class: 'paper',
    }),
    ...dots,
    element('line', { x1: 0, x2: width, y1: BAR, y2: BAR, stroke: LIGHT.edge, class: 'edge' }),
    ...all.map((runs, index) => words(runs, BAR + EDGE + 8 + index * LINE)),
  ];
  const frame = { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${width} ${height}`, width, height };
  return `${element('svg', { ...frame, class: 'terminal', role: 'img' }, body.join('\n'))}\n`;
}
