/** The commands of docs/usage/upgrade.md, as a person pastes them. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';

const PAGE = path.join(import.meta.dirname, '..', '..', '..', 'docs', 'usage', 'upgrade.md');
const SECTION = /^(?=## )/m;
const PART = /^(?=### )/m;
const HEADING = /^#+ +(?<heading>.+)$/m;
const BLOCK = /^```sh\n(?<commands>[\s\S]*?)^```$/gm;

/** The commands below a heading. */
export interface Part {
  readonly heading: string;
  readonly commands: string;
}

function headingOf(text: string): string {
  return HEADING.exec(text)?.groups?.['heading'] ?? '';
}

/** The parts of a section of the page that have commands, in their order. Throws where the page has no such section. */
export async function partsOf(section: string): Promise<readonly Part[]> {
  const text = (await readFile(PAGE, 'utf8')).split(SECTION).find((each) => headingOf(each) === section);
  if (text === undefined) throw new Error(`${PAGE} has no section "${section}"`);
  return text.split(PART).flatMap((part) => {
    const commands = [...part.matchAll(BLOCK)].map(({ groups }) => groups?.['commands'] ?? '').join('');
    return commands === '' ? [] : [{ heading: headingOf(part), commands }];
  });
}
