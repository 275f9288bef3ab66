/** What SVG and HTML share: texts from outside made safe, colours for light and dark, and the picture's elements. */
import { printable } from '../../printable.ts';
import { colourRules, type Paint, type Scheme } from './colours.ts';

/** A text from outside as the content of an element or of an attribute in double quotes. */
export function markup(text: string): string {
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
export type Attributes = Readonly<Record<string, string | number>>;

/** An element with content that is markup already. */
export function element(name: string, attributes: Attributes, content = ''): string {
  const list = Object.entries(attributes).map(([key, value]) => {
    return ` ${key}="${typeof value === 'number' ? String(Math.round(value * 10) / 10) : markup(value)}"`;
  });
  return content === '' ? `<${name}${list.join('')}/>` : `<${name}${list.join('')}>${content}</${name}>`;
}

type Colour =
  | 'paper'
  | 'band'
  | 'ink'
  | 'soft'
  | 'line'
  | 'ending'
  | 'interceptor'
  | 'waiting'
  | 'between'
  | 'left'
  | 'on'
  | 'onwaiting';

const COLOURS: Scheme<Colour> = {
  light: {
    paper: '#ffffff',
    band: '#f4f6f8',
    ink: '#1b2430',
    soft: '#5b6775',
    line: '#dfe4ea',
    ending: '#2f7ed8',
    interceptor: '#8a5cd6',
    waiting: '#e8a11c',
    between: '#b3bcc7',
    left: '#d6455d',
    on: '#ffffff',
    onwaiting: '#3a2900',
  },
  dark: {
    paper: '#12171e',
    band: '#1a212b',
    ink: '#e8edf3',
    soft: '#9aa7b5',
    line: '#2b3542',
    ending: '#4f9bf0',
    interceptor: '#a884ec',
    waiting: '#efb23c',
    between: '#566273',
    left: '#f0647c',
    on: '#0d1218',
    onwaiting: '#2b1e00',
  },
};

/** A class of a shape; `ink` is that of a text without another one. */
type PaintedClass = Exclude<Colour, 'line'> | 'track' | 'rule';

/** The classes of shapes that have not the name of their colour. */
const OTHER_NAMES: Readonly<Partial<Record<PaintedClass, Colour>>> = { track: 'line', rule: 'line' };

const CLASSES: readonly PaintedClass[] = [
  ...([
    'ink',
    'soft',
    'paper',
    'band',
    'ending',
    'interceptor',
    'waiting',
    'between',
    'left',
    'on',
    'onwaiting',
  ] as const),
  ...(['track', 'rule'] as const),
];

function paintOf(name: PaintedClass): readonly ['fill' | 'stroke', Colour] {
  const colour = OTHER_NAMES[name] ?? (name as Colour);
  return [name === 'rule' ? 'stroke' : 'fill', colour];
}

/** The attributes of a shape of this class: the class for style sheets, and its light colour for renderers that know none. */
export function painted(name: PaintedClass): Attributes {
  const [property, colour] = paintOf(name);
  return { class: name, [property]: COLOURS.light[colour] };
}

/** What a page has beside the pictures in it. */
const PAGE_PAINTS: readonly Paint<Colour>[] = [
  ['body.report', 'background', 'paper'],
  ['body.report', 'color', 'ink'],
  ['.report p,.report th', 'color', 'soft'],
  ['.report td,.report th', 'border-bottom-color', 'line'],
];

/** The style sheet of pictures: the colours follow the reader's system. */
export const STYLE = [
  '.report{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}',
  colourRules(
    COLOURS,
    CLASSES.map((name): Paint<Colour> => [`.report .${name}`, ...paintOf(name)]),
  ),
].join('\n');

/** The colours of a page around pictures. */
export const PAGE_COLOURS = colourRules(COLOURS, PAGE_PAINTS);
