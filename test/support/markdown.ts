import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** A link of a page: its target as written, without the anchor, and the anchor. */
interface Link {
  readonly target: string;
  readonly anchor: string;
}

const HEADING = /^#{1,6} +(.+?) *$/gm;
const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g;

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** The anchors of the headings of a page, as GitHub makes them. */
function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutCode(text).matchAll(HEADING)) {
    const words = heading.replaceAll(LINK, (link) => link.slice(1, link.indexOf(']'))).toLowerCase();
    const anchor = words.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-');
    let name = anchor;
    for (let count = 1; anchors.has(name); count += 1) name = `${anchor}-${count}`;
    anchors.add(name);
  }
  return anchors;
}

function linksOf(text: string): readonly Link[] {
  const urls = [...withoutCode(text).matchAll(LINK)].map(([, url = '']) => url);
  return urls
    .filter((url) => !/^[a-z]+:/.test(url))
    .map((url) => {
      const [target = '', anchor = ''] = url.split('#');
      return { target, anchor };
    });
}

async function readPage(file: string): Promise<string | undefined> {
  return await readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'EISDIR') return '';
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** The relative links of a page that lead nowhere, as `FILE: TARGET#ANCHOR`. Links to other sites are not followed. */
export async function brokenLinks(page: string): Promise<readonly string[]> {
  const text = await readFile(page, 'utf8');
  const broken: string[] = [];
  for (const { target, anchor } of linksOf(text)) {
    const file = target === '' ? page : path.join(path.dirname(page), target);
    const found = await readPage(file);
    const isThere = found !== undefined && (anchor === '' || anchorsOf(found).has(anchor));
    if (!isThere) broken.push(`${page}: ${target}#${anchor}`);
  }
  return broken;
}

/** The files that a page links to, as absolute paths. */
export async function linkedFiles(page: string): Promise<ReadonlySet<string>> {
  const links = linksOf(await readFile(page, 'utf8'));
  return new Set(
    links.filter(({ target }) => target !== '').map(({ target }) => path.resolve(path.dirname(page), target)),
  );
}
