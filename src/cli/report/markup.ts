/** What SVG and HTML share: texts from outside made safe, colours for light and dark, and the picture's elements. */
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

const LIGHT =
  '--paper:#ffffff;--band:#f4f6f8;--ink:#1b2430;--soft:#5b6775;--line:#dfe4ea;--ending:#2f7ed8;--interceptor:#8a5cd6;--waiting:#e8a11c;--between:#b3bcc7;--left:#d6455d;--on:#ffffff;--onwaiting:#3a2900';
const DARK =
  '--paper:#12171e;--band:#1a212b;--ink:#e8edf3;--soft:#9aa7b5;--line:#2b3542;--ending:#4f9bf0;--interceptor:#a884ec;--waiting:#efb23c;--between:#566273;--left:#f0647c;--on:#0d1218;--onwaiting:#2b1e00';

/** The style sheet of pictures and pages: the colours follow the reader's system. */
export const STYLE = [
  `.report{${LIGHT};font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}`,
  `@media (prefers-color-scheme:dark){.report{${DARK}}}`,
  '.report text{fill:var(--ink)}',
  '.report .soft{fill:var(--soft)}',
  '.report .paper{fill:var(--paper)}',
  '.report .band{fill:var(--band)}',
  '.report .line{stroke:var(--line);stroke-width:1}',
  '.report .moment{stroke:var(--soft);stroke-width:1;stroke-dasharray:3 3}',
  '.report .ending{fill:var(--ending)}',
  '.report .interceptor{fill:var(--interceptor)}',
  '.report .waiting{fill:var(--waiting)}',
  '.report .between{fill:var(--between)}',
  '.report .left{fill:var(--left)}',
  '.report .track{fill:var(--line)}',
  '.report text.on{fill:var(--on)}',
  '.report text.onwaiting{fill:var(--onwaiting)}',
].join('\n');
