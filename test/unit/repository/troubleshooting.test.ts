import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { FLEET_STATES } from '../../../src/show/fleet/node-state.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

function read(file: string): Promise<string> {
  return readFile(path.join(ROOT, file), 'utf8');
}

/** The members of a union of texts, from the place in a source where it begins to the end of the statement. */
function membersOf(source: string, begin: RegExp): readonly string[] {
  const union = new RegExp(`${begin.source}([^;]*);`).exec(source)?.[1] ?? '';
  return [...union.matchAll(/'([\w-]+)'/g)].map(([, member = '']) => member);
}

/** The reasons of the condition Drained, which several files give. */
async function drainedReasons(): Promise<readonly string[]> {
  const files = ['src/decide/drain/drained-condition.ts', 'src/decide/drain/status.ts'];
  const texts = await Promise.all(files.map(read));
  return texts.flatMap((text) =>
    [...text.matchAll(/drained(?:: \w+)?,\s*reason: '(\w+)'/g)].map(([, name = '']) => name),
  );
}

describe('the page for trouble', () => {
  it('the page for trouble has a heading for each reason of a pod that blocks, of the condition Drained, and of a node', async () => {
    const blocking = membersOf(
      await read('src/api/node-maintenance.ts'),
      /interface BlockingPod \{[^}]*?readonly reason:/,
    );
    const drained = await drainedReasons();
    assert.ok(blocking.length >= 12 && drained.length >= 4, [blocking, drained].join(' '));
    const page = await read('docs/usage/troubleshooting.md');
    const headings = new Set([...page.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading));
    const missing = [...blocking, ...FLEET_STATES, ...drained].filter((reason) => !headings.has(reason));
    assert.deepEqual([...new Set(missing)], []);
  });

  it('the page for trouble has the words by which a drain names each cause that blocks', async () => {
    const page = await read('docs/usage/troubleshooting.md');
    const source = await read('src/show/progress/blocking-causes.ts');
    const words = [...source.matchAll(/^ {2}[A-Z]\w+: \['[^']+', '([^']+)'\],$/gm)].map(([, several = '']) => several);
    assert.ok(words.length > 10);
    const missing = words.filter((each) => !page.includes(each));
    assert.deepEqual(missing, ['wait for the interceptor']);
  });

  it('the page for trouble says what to do under each heading of a reason', async () => {
    const page = await read('docs/usage/troubleshooting.md');
    const sections = page.split(/^### /m).slice(1);
    const empty = sections.filter((section) => !/\*\*Do:\*\* \S/.test(section.split(/^## /m)[0] ?? ''));
    const found = empty.map((section) => section.split('\n')[0]);
    assert.deepEqual(found, []);
  });
});
