import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { makeTestFolder } from '../folder.ts';

/** A folder with the three places of a mover, at which file systems can be mounted until the test is over. */
export interface MountRoot {
  readonly root: string;
  mount(folder: string, ...args: readonly string[]): void;
  /** A file system in memory with hardly any room. */
  mountSmall(folder: string): void;
  /** One file system for all three places. */
  mountAll(): void;
}

/** Makes the folder; needs root. */
export async function createMountRoot(t: TestContext): Promise<MountRoot> {
  const root = await makeTestFolder('disk');
  const mounted: string[] = [];
  t.after(async () => {
    for (const place of mounted) execFileSync('umount', ['--lazy', place]);
    await rm(root, { recursive: true });
  });
  const makeFolders = (): void => {
    for (const folder of ['manifests', 'parked', 'state']) mkdirSync(path.join(root, folder));
  };
  makeFolders();
  const mount = (folder: string, ...args: readonly string[]): void => {
    const place = path.join(root, folder);
    execFileSync('mount', [...args, place]);
    mounted.push(place);
  };
  return {
    root,
    mount,
    mountSmall: (folder) => mount(folder, '-t', 'tmpfs', '-o', 'size=64k,nr_inodes=64,mode=755', 'tmpfs'),
    mountAll: () => {
      mount('.', '-t', 'tmpfs', '-o', 'mode=755', 'tmpfs');
      makeFolders();
    },
  };
}
