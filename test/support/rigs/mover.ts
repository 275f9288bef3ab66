import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { createDisk, type Disk } from '../../../src/static-pods/disk/disk.ts';
import { Mover } from '../../../src/static-pods/mover.ts';
import { type MoverPaths } from '../../../src/static-pods/places.ts';
import { createMountRoot, type MountRoot } from '../disks/mounts.ts';

/** A manifest. */
export const POD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n';

/** A mover, its places and its disk. */
export interface MoverRig {
  readonly root: string;
  readonly paths: MoverPaths;
  readonly mover: Mover;
  readonly disk: Disk;
}

/** A mover over one manifest, on the machine's disk; `before` may mount something at the three directories first. */
export async function createMoverRig(
  t: TestContext,
  before: (mounts: MountRoot) => void = () => {},
): Promise<MoverRig> {
  const disk = createDisk();
  const mounts = await createMountRoot(t);
  before(mounts);
  const { root } = mounts;
  const paths = {
    staticPodPath: path.join(root, 'manifests'),
    parkedPath: path.join(root, 'parked'),
    journalPath: path.join(root, 'state', 'journal'),
  };
  await writeFile(path.join(paths.staticPodPath, 'web.yaml'), POD);
  const mover = new Mover(paths, disk);
  await mover.recover();
  return { root, paths, mover, disk };
}

/** Parks one manifest. */
export function park(mover: Mover, file = 'web.yaml'): Promise<void> {
  return mover.park({ op: 'park', file, sha256: '', maintenance: 'm', at: 1, bootId: 'b' });
}
