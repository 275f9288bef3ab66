import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { Disk } from '../../src/static-pods/disk/disk.ts';
import { Mover } from '../../src/static-pods/mover.ts';
import { type MoverPaths } from '../../src/static-pods/places.ts';
import { createQuickDisk } from '../support/disks/quick-disk.ts';
import { createQuickFolder } from '../support/disks/quick-folder.ts';
import { contentOf, namesOf, runPlan } from './mover-plan.ts';

/** A change of the disk, and what must be durable before the change certainly survives a power cut. */
interface Change {
  readonly repeat: (disk: Disk) => Promise<void>;
  readonly waitsFor: Set<string>;
}

/** A disk that notes its changes, and which of them are durable. */
function createNotingDisk(real: Disk, changes: Change[]): Disk {
  const note =
    <A extends unknown[]>(
      call: (disk: Disk) => (...args: A) => Promise<void>,
      waitsFor: (first: string, second: string) => string[],
    ) =>
    async (...args: A): Promise<void> => {
      await call(real)(...args);
      changes.push({
        repeat: (disk) => call(disk)(...args),
        waitsFor: new Set(waitsFor(String(args[0]), String(args[1]))),
      });
    };
  const synced = async (place: string): Promise<void> => {
    for (const { waitsFor } of changes) waitsFor.delete(place);
  };
  const folderOf = (file: string): string[] => [path.dirname(file)];
  const both = (from: string, to: string): string[] => [path.dirname(from), path.dirname(to)];
  return {
    ...real,
    rename: note((disk) => disk.rename, both),
    link: note(
      (disk) => disk.link,
      (_, to) => folderOf(to),
    ),
    unlink: note((disk) => disk.unlink, folderOf),
    makeDirectory: note(
      (disk) => disk.makeDirectory,
      (directory) => folderOf(directory),
    ),
    removeDirectory: note((disk) => disk.removeDirectory, folderOf),
    create: note(
      (disk) => disk.create,
      (file) => folderOf(file),
    ),
    append: note(
      (disk) => disk.append,
      (file) => [file],
    ),
    syncFile: synced,
    syncDirectory: synced,
  };
}

/** All ways to keep some of the changes, in their order. */
function* subsets<T>(all: readonly T[]): Generator<ReadonlySet<T>> {
  for (let bits = 0; bits < 2 ** all.length; bits += 1) {
    yield new Set(all.filter((_, index) => Math.floor(bits / 2 ** index) % 2 === 1));
  }
}

function pathsIn(root: string): MoverPaths {
  return {
    staticPodPath: path.join(root, 'manifests'),
    parkedPath: path.join(root, 'parked'),
    journalPath: path.join(root, 'state', 'journal'),
  };
}

function assertNoneLost(paths: MoverPaths, files: readonly string[]): void {
  const there = [paths.staticPodPath, paths.parkedPath].flatMap((directory) =>
    readdirSync(directory).map((name) => path.join(directory, name)),
  );
  assert.deepEqual(there.map((place) => path.basename(place)).sort(), [...files].sort());
  for (const place of there) assert.equal(readFileSync(place, 'utf8'), contentOf(path.basename(place)));
}

describe('a power cut at any moment, with what was not made durable kept or lost in every combination', () => {
  for (const count of [1, 2]) {
    it(`the mover keeps ${count} manifests`, async (t) => {
      const root = await createQuickFolder('power');
      t.after(() => rmSync(root, { recursive: true }));
      const files = namesOf(count);
      const paths = pathsIn(root);
      const start = (): void => {
        rmSync(root, { recursive: true });
        mkdirSync(paths.staticPodPath, { recursive: true });
        for (const file of files) writeFileSync(path.join(paths.staticPodPath, file), contentOf(file));
      };
      const changes: Change[] = [];
      /** What is durable for certain and what is not, whenever that has changed. */
      const cuts: { readonly sure: readonly Change[]; readonly open: readonly Change[] }[] = [];
      const quick = createNotingDisk(createQuickDisk(), changes);
      const noting = Object.fromEntries(
        Object.entries(quick).map(([name, call]) => [
          name,
          async (...args: unknown[]) => {
            const result = await (call as (...all: unknown[]) => Promise<unknown>)(...args);
            cuts.push({
              sure: changes.filter(({ waitsFor }) => waitsFor.size === 0),
              open: changes.filter(({ waitsFor }) => waitsFor.size > 0),
            });
            return result;
          },
        ]),
      ) as unknown as Disk;
      start();
      await runPlan(new Mover(paths, noting), { paths, verb: 'park', files });
      await runPlan(new Mover(paths, noting), { paths, verb: 'restore', files });
      let cases = 0;
      const order = new Map(changes.map((change, index) => [change, index]));
      for (const [index, { sure, open }] of cuts.entries()) {
        const before = cuts[index - 1];
        if (before?.sure.length === sure.length && before.open.length === open.length) continue;
        for (const kept of subsets(open)) {
          start();
          const disk = createQuickDisk();
          const done = [...sure, ...kept].sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
          // What came to nothing without a change that is lost comes to nothing now.
          for (const change of done) await change.repeat(disk).catch(() => undefined);
          const mover = new Mover(paths, disk);
          assert.deepEqual((await mover.recover()).failed, []);
          assertNoneLost(paths, files);
          cases += 1;
        }
      }
      t.diagnostic(`${cases} cases, at most ${Math.max(...cuts.map(({ open }) => open.length))} changes open`);
    });
  }
});
