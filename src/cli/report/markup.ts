/** The elements of a picture: texts from outside made safe, and colours for light and dark. */
import { printable } from '../../printable.ts';

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
export function painted(name: keyof typeof PAINTS): Attributes {
  const [property, light] = PAINTS[name];
  return { class: name, [property]: light };
}

const DARK = Object.entries(PAINTS).map(([name, [property, , dark]]) => `.report .${name}{${property}:${dark}}`);

/** The style sheet of a picture: the dark colours lie on top where the reader's system asks for them. */
export const STYLE = [
  '.report{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}',
  `@media (prefers-color-scheme:dark){\n${DARK.join('\n')}\n}`,
].join('\n');
