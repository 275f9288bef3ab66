/** What is installed in what order, as far as the files say it; a test of the suite "integration" looks at a cluster. */
import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const RIGHTS = /^(?:Cluster)?Role(?:Binding)?$/;

interface Kustomization {
  readonly kind: string;
  readonly resources?: readonly string[];
  readonly sortOptions?: { readonly order: string };
}

/** The kinds of the objects of a file or of a folder with a kustomization, in their order. */
async function kindsOf(place: string): Promise<readonly string[]> {
  const file = place.endsWith('.yaml') ? place : path.join(place, 'kustomization.yaml');
  const text = await readFile(file, 'utf8');
  if (path.basename(file) !== 'kustomization.yaml') {
    return parseAllDocuments(text).map((document) => (document.toJS() as { kind: string }).kind);
  }
  const { resources = [] } = parse(text) as Kustomization;
  return (await Promise.all(resources.map((name) => kindsOf(path.join(path.dirname(file), name))))).flat();
}

describe('the kustomizations', () => {
  it('the kustomizations with policies and rights list the policies first, and say that this order counts', async () => {
    const found: string[] = [];
    for (const file of globSync('manifests/{,*/,*/*/}kustomization.yaml', { cwd: ROOT })) {
      const { kind, sortOptions } = parse(await readFile(path.join(ROOT, file), 'utf8')) as Kustomization;
      const kinds = await kindsOf(path.join(ROOT, path.dirname(file)));
      const firstRight = kinds.findIndex((each) => RIGHTS.test(each));
      const lastPolicy = kinds.findLastIndex((each) => each.includes('AdmissionPolicy'));
      if (kind !== 'Kustomization' || firstRight === -1 || lastPolicy === -1) continue;
      found.push(path.dirname(file));
      assert.ok(lastPolicy < firstRight, file);
      assert.deepEqual(sortOptions, { order: 'fifo' }, file);
    }
    assert.deepEqual(found.toSorted(), ['manifests']);
  });

  it('the kustomizations in the documentation have the line without which kustomize sorts again', async () => {
    let count = 0;
    for (const page of globSync('docs/**/*.md', { cwd: ROOT })) {
      const text = await readFile(path.join(ROOT, page), 'utf8');
      for (const [, block = ''] of text.matchAll(/```yaml\n([^]*?)```/g)) {
        if (!/^resources: \[(?:\.\.\/)?manifests\]$/m.test(block)) continue;
        count += 1;
        assert.match(block, /^sortOptions: \{order: fifo\}$/m, page);
      }
    }
    assert.ok(count >= 5, String(count));
  });

  it('the kustomizations list every policy and every file of rights', async () => {
    for (const folder of ['policies', 'rbac']) {
      const place = path.join(ROOT, 'manifests', folder);
      const files = globSync('*.yaml', { cwd: place }).filter((name) => name !== 'kustomization.yaml');
      const { resources = [] } = parse(await readFile(path.join(place, 'kustomization.yaml'), 'utf8')) as Kustomization;
      assert.deepEqual([...resources].toSorted(), files.toSorted());
      assert.ok(resources.every((name) => existsSync(path.join(place, name))));
    }
  });
});
