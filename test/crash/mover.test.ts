import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { createDisk, type Disk } from '../../src/static-pods/disk.ts';
import { createMover, type Mover } from '../../src/static-pods/mover.ts';

class PowerCut extends Error {}

/** A disk that works until the power is cut before its `cutAt`th change, and for ever after. */
function createFailingDisk(cutAt: number): { disk: Disk; changes: () => number } {
  const real = createDisk();
  let count = 0;
  const guarded =
    <A extends unknown[]>(call: (...args: A) => Promise<void>) =>
    async (...args: A): Promise<void> => {
      count += 1;
      if (count >= cutAt) throw new PowerCut(`before change ${count}`);
      await call(...args);
    };
  return {
    changes: () => count,
    disk: {
      ...real,
      rename: guarded(real.rename),
      link: guarded(real.link),
      unlink: guarded(real.unlink),
      append: guarded(real.append),
      replace: guarded(real.replace),
      syncDirectory: guarded(real.syncDirectory),
      makeDirectory: guarded(real.makeDirectory),
    },
  };
}

interface Sandbox {
  readonly staticPodPath: string;
  readonly parkedPath: string;
  readonly journalPath: string;
}

async function inSandbox(files: readonly string[], body: (paths: Sandbox) => Promise<void>): Promise<void> {
  const root = await mkdtemp(path.join(tmpdir(), 'nodemaint-crash-'));
  const paths: Sandbox = {
    staticPodPath: path.join(root, 'manifests'),
    parkedPath: path.join(root, 'parked'),
    journalPath: path.join(root, 'state', 'journal'),
  };
  await mkdir(paths.staticPodPath);
  for (const file of files) await writeFile(path.join(paths.staticPodPath, file), contentOf(file));
  try {
    await body(paths);
  } finally {
    await rm(root, { recursive: true });
  }
}

function contentOf(file: string): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: ${file}}\n# ${file.repeat(20)}\n`;
}

async function parkAll(mover: Mover, files: readonly string[]): Promise<void> {
  await mover.recover();
  for (const file of files) {
    await mover.park({ op: 'park', file, sha256: '', maintenance: 'm', at: 1, bootId: 'b' });
  }
}

async function restoreAll(mover: Mover, files: readonly string[]): Promise<void> {
  await mover.recover();
  for (const file of files) await mover.restore(file);
}

/** Where each manifest is: exactly one place, with its own bytes. */
async function places(paths: Sandbox, files: readonly string[]): Promise<Record<string, string>> {
  const inPlace = new Set(await readdir(paths.staticPodPath));
  const parked = new Set((await readdir(paths.parkedPath)).filter((name) => !name.startsWith('.')));
  assert.equal(inPlace.size + parked.size, files.length, 'every manifest exactly once, and nothing else');
  const found: Record<string, string> = {};
  for (const file of files) {
    const directory = inPlace.has(file) ? paths.staticPodPath : paths.parkedPath;
    assert.equal(await readFile(path.join(directory, file), 'utf8'), contentOf(file));
    found[file] = inPlace.has(file) ? 'in place' : 'parked';
  }
  return found;
}

const FILES = ['etcd.yaml', 'kube-apiserver.yaml', 'no-extension', 'x.json'];

describe('the power is cut before each change of the disk', () => {
  for (const [name, run] of [
    ['while parking', parkAll],
    ['while restoring', restoreAll],
  ] as const) {
    it(`loses and doubles no manifest ${name}`, async () => {
      let cases = 0;
      for (let cutAt = 1; ; cutAt += 1) {
        let finished = false;
        await inSandbox(FILES, async (paths) => {
          if (run === restoreAll) await parkAll(createMover(paths, createDisk()), FILES);
          const { disk } = createFailingDisk(cutAt);
          try {
            await run(createMover(paths, disk), FILES);
            finished = true;
          } catch (error) {
            assert.match(String((error as Error).cause ?? error), /before change/);
          }
          const recovered = createMover(paths, createDisk());
          await recovered.recover();
          await places(paths, FILES);
          await restoreAll(createMover(paths, createDisk()), FILES);
          assert.deepEqual(new Set(Object.values(await places(paths, FILES))), new Set(['in place']));
          cases += 1;
        });
        if (finished) break;
      }
      assert.ok(cases > FILES.length * 4, `${cases} cases`);
      console.log(`${cases} cut points ${name}`);
    });
  }

  it('recovers from a cut in the middle of the recovery', async () => {
    for (let first = 1; first < 14; first += 1) {
      for (let second = 1; second < 8; second += 1) {
        await inSandbox(FILES, async (paths) => {
          await parkAll(createMover(paths, createFailingDisk(first).disk), FILES).catch(() => undefined);
          await mkdir(paths.parkedPath, { recursive: true });
          await createMover(paths, createFailingDisk(second).disk)
            .recover()
            .catch(() => undefined);
          await createMover(paths, createDisk()).recover();
          await places(paths, FILES);
        });
      }
    }
  });

  it('goes on after a journal line that was torn', async () => {
    await inSandbox(FILES, async (paths) => {
      await parkAll(createMover(paths, createDisk()), FILES);
      await writeFile(paths.journalPath, 'deadbeef {"op":"pa', { flag: 'a' });
      const mover = createMover(paths, createDisk());
      await mover.recover();
      assert.equal(mover.parkSteps().size, FILES.length);
      await restoreAll(createMover(paths, createDisk()), FILES);
      assert.deepEqual(new Set(Object.values(await places(paths, FILES))), new Set(['in place']));
    });
  });

  it('keeps both contents when somebody writes the file again while it is parked', async () => {
    await inSandbox(['a.yaml'], async (paths) => {
      const mover = createMover(paths, createDisk());
      await parkAll(mover, ['a.yaml']);
      await writeFile(path.join(paths.staticPodPath, 'a.yaml'), 'newer');
      await parkAll(mover, ['a.yaml']);
      assert.equal(await readFile(path.join(paths.parkedPath, 'a.yaml'), 'utf8'), 'newer');
      assert.equal(await readFile(path.join(paths.parkedPath, '.superseded', 'a.yaml.1'), 'utf8'), contentOf('a.yaml'));
      await writeFile(path.join(paths.staticPodPath, 'a.yaml'), 'newest');
      assert.equal(await mover.restore('a.yaml'), 'kept-newer');
      assert.equal(await readFile(path.join(paths.staticPodPath, 'a.yaml'), 'utf8'), 'newest');
      assert.equal(await readFile(path.join(paths.parkedPath, '.superseded', 'a.yaml.2'), 'utf8'), 'newer');
    });
  });
});
