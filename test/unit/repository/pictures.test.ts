import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

describe('the pictures of the documentation', () => {
  it('each picture has literal colours and follows the light or dark ones of its reader, loads nothing, and is shown by a page', async () => {
    const filesOf = async (folder: string): Promise<readonly string[]> =>
      (await readdir(path.join(ROOT, folder))).map((name) => path.join(ROOT, folder, name));
    const pages = [path.join(ROOT, 'README.md'), ...(await filesOf('docs/usage'))];
    const text = (await Promise.all(pages.map((page) => readFile(page, 'utf8')))).join('\n');
    const pictures = await filesOf('docs/pictures');
    assert.ok(pictures.length > 0);
    for (const file of pictures) {
      const picture = await readFile(file, 'utf8');
      assert.match(picture, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"[^>]*viewBox=/, file);
      assert.match(picture, /<title>[^<]+<\/title>/, file);
      assert.match(picture, /prefers-color-scheme:dark/, file);
      // Renderers that know no variables of CSS draw such shapes black.
      assert.doesNotMatch(picture, /var\(/, file);
      const shapes = [...picture.matchAll(/<(?:rect|circle|text|line)\b[^>]*>/g)].map(([shape]) => shape);
      const bare = shapes.filter((shape) => !/ (?:fill|stroke)="#[0-9a-f]{6}"/.test(shape));
      assert.deepEqual(bare, [], `${file}: a renderer without style sheets draws these black`);
      assert.doesNotMatch(picture, /<text[^>]*>[\s\u00A0]/, `${file}: renderers take spaces at the beginning away`);
      assert.doesNotMatch(picture, /<script|<image|<foreignObject|href=|url\(|@import/i, file);
      assert.ok(text.includes(`pictures/${path.basename(file)})`), `no page shows ${file}`);
    }
  });
});
