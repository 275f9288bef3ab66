import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, lstat, open, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { NodemaintError } from '../../../src/errors.ts';
import { Mover } from '../../../src/static-pods/mover.ts';
import { untrustedPlace } from '../../../src/static-pods/trusted-places.ts';
import type { MountRoot } from '../../support/disks/mounts.ts';
import { createMoverRig, type MoverRig, park, POD } from '../../support/rigs/mover.ts';

const NOBODY = 65534;

async function assertFails(call: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof NodemaintError);
    assert.equal(error.code, 'FILE_OPERATION_FAILED');
    assert.match(error.message, message);
    return true;
  });
}

async function assertUntouched({ paths }: MoverRig, directory: 'staticPodPath' | 'parkedPath'): Promise<void> {
  const manifests = async (place: string): Promise<readonly string[]> =>
    (await readdir(place)).filter((name) => !name.startsWith('.'));
  assert.deepEqual(await manifests(paths.staticPodPath), directory === 'staticPodPath' ? ['web.yaml'] : []);
  assert.deepEqual(await manifests(paths.parkedPath), directory === 'parkedPath' ? ['web.yaml'] : []);
  assert.equal(await readFile(path.join(paths[directory], 'web.yaml'), 'utf8'), POD);
}

async function fill(directory: string): Promise<void> {
  const file = path.join(directory, '.filler');
  await using handle = await open(file, 'w');
  const block = Buffer.alloc(4096, 1);
  await assert.rejects(
    async () => {
      for (;;) await handle.write(block);
    },
    { code: 'ENOSPC' },
  );
}

/** Runs `body` as a user other than root, in every thread of this process. */
async function asNobody(body: () => Promise<void>): Promise<void> {
  process.seteuid?.(NOBODY);
  try {
    await body();
  } finally {
    process.seteuid?.(0);
  }
}

const small =
  (folder: string) =>
  ({ mountSmall }: MountRoot): void => {
    mountSmall(folder);
  };

describe('a full disk', () => {
  it('a full disk of the journal leaves the manifest in place, is reported, and is over when there is room again', async (t) => {
    const rig = await createMoverRig(t, small('state'));
    await fill(path.join(rig.root, 'state'));
    // What is left of the journal's own block.
    await writeFile(rig.paths.journalPath, 'x'.repeat(4096), { flag: 'a' }).catch(() => undefined);
    await writeFile(rig.paths.journalPath, '');
    await assertFails(park(rig.mover), /cannot park the manifest "web\.yaml" .*ENOSPC: no space left on device/);
    await assertUntouched(rig, 'staticPodPath');

    await rm(path.join(rig.root, 'state', '.filler'));
    await park(rig.mover);
    await assertUntouched(rig, 'parkedPath');
    assert.equal((await new Mover(rig.paths, rig.disk).recover()).failed.length, 0, 'the journal is whole');
  });
});

describe('a read-only file system', () => {
  it('a read-only file system keeps a manifest in place or parked; the next start reports it, and a later start gives the manifest back', async (t) => {
    const rig = await createMoverRig(t, ({ mountAll }) => {
      mountAll();
    });
    const remount = (how: string): void => {
      execFileSync('mount', ['-o', `remount,${how}`, rig.root]);
    };
    remount('ro');
    await assertFails(park(rig.mover), /cannot park the manifest "web\.yaml" .*EROFS: read-only file system/);
    await assertUntouched(rig, 'staticPodPath');
    remount('rw');
    await park(rig.mover);
    remount('ro');
    await assertFails(rig.mover.restore('web.yaml'), /cannot restore the manifest "web\.yaml" .*read-only file system/);
    await assertUntouched(rig, 'parkedPath');
    const next = new Mover(rig.paths, rig.disk);
    const { problems } = await next.recover();
    assert.match(problems.join(), /cannot write the journal .*EROFS: read-only file system/);
    assert.equal(next.parkSteps().get('web.yaml')?.maintenance, 'm', 'what it was parked for is not forgotten');
    remount('rw');
    const last = new Mover(rig.paths, rig.disk);
    assert.deepEqual((await last.recover()).failed, []);
    assert.equal(await last.restore('web.yaml'), 'restored');
    await assertUntouched(rig, 'staticPodPath');
  });

  it('a read-only journal is named at the start; a shutdown parks all the same, and the parked manifests come back', async (t) => {
    const rig = await createMoverRig(t, small('state'));
    execFileSync('mount', ['-o', 'remount,ro', path.join(rig.root, 'state')]);
    const mover = new Mover(rig.paths, rig.disk);
    const { problems } = await mover.recover();
    assert.match(problems.join(), /cannot write the journal .*EROFS: read-only file system/);
    assert.match(mover.problem() ?? '', /EROFS/);
    await assertFails(park(mover), /EROFS: read-only file system/);
    await assertUntouched(rig, 'staticPodPath');
    await mover.park({ op: 'park', file: 'web.yaml', sha256: '', maintenance: 'm', at: 1, bootId: 'b' }, 'best-effort');
    await assertUntouched(rig, 'parkedPath');
    assert.equal(mover.parkSteps().get('web.yaml')?.maintenance, 'm');
    assert.equal(await mover.restore('web.yaml'), 'restored');
    execFileSync('mount', ['-o', 'remount,rw', path.join(rig.root, 'state')]);
    await mover.retry();
    assert.equal(mover.problem(), undefined);
  });
});

describe('a directory without permission', () => {
  it('a directory without permission keeps a manifest in place, and the reason is reported', async (t) => {
    const rig = await createMoverRig(t);
    await chmod(rig.root, 0o755);
    execFileSync('chown', ['-R', String(NOBODY), path.join(rig.root, 'parked'), path.join(rig.root, 'state')]);
    await asNobody(() =>
      assertFails(park(rig.mover), /cannot park the manifest "web\.yaml" .*EACCES: permission denied/),
    );
    await assertUntouched(rig, 'staticPodPath');
  });
});

describe('a move', () => {
  it('a move there and back keeps mode, owner, times and attributes of a manifest', async (t) => {
    const rig = await createMoverRig(t);
    const file = path.join(rig.paths.staticPodPath, 'web.yaml');
    execFileSync('chown', ['1234:4321', file]);
    await chmod(file, 0o640);
    const facts = async (place: string) => {
      const { mode, uid, gid, mtimeNs, ino } = await lstat(place, { bigint: true });
      return { mode, uid, gid, mtimeNs, ino };
    };
    const original = await facts(file);
    await park(rig.mover);
    await assertUntouched(rig, 'parkedPath');
    assert.deepEqual(await facts(path.join(rig.paths.parkedPath, 'web.yaml')), original);
    assert.deepEqual(rig.mover.parkSteps().get('web.yaml')?.origin, {
      path: file,
      parkedPath: rig.paths.parkedPath,
      mode: 0o640,
      uid: 1234,
      gid: 4321,
      mountPoint: false,
    });
    assert.equal(await rig.mover.restore('web.yaml'), 'restored');
    await assertUntouched(rig, 'staticPodPath');
    assert.deepEqual(await facts(file), original);
  });

  it('a move moves a symbolic link as the link that it is', async (t) => {
    const rig = await createMoverRig(t);
    await symlink('../elsewhere.yaml', path.join(rig.paths.staticPodPath, 'link.yaml'));
    await park(rig.mover, 'link.yaml');
    assert.equal(await readlink(path.join(rig.paths.parkedPath, 'link.yaml')), '../elsewhere.yaml');
    assert.equal(await rig.mover.restore('link.yaml'), 'restored');
    assert.equal(await readlink(path.join(rig.paths.staticPodPath, 'link.yaml')), '../elsewhere.yaml');
  });
});

describe('a parked directory that no rename reaches', () => {
  for (const [what, before] of Object.entries({
    'another file system': small('parked'),
    'a static pod directory that is a mount of its own': small('manifests'),
    'another mount of the same file system': ({ root, mount }: MountRoot): void => {
      mount('parked', '--bind', path.join(root, 'parked'));
    },
  })) {
    it(`${what} is refused, with what to do, and a move to it leaves the manifest where it is`, async (t) => {
      const rig = await createMoverRig(t, before);
      const refusal = (await untrustedPlace(rig.paths)) ?? '';
      assert.match(
        refusal,
        /is on another file system or mount than the static pods, .*; give back what is parked there/,
      );
      await assertFails(park(rig.mover), /cannot park the manifest "web\.yaml" .*EXDEV: cross-device link/);
      await assertUntouched(rig, 'staticPodPath');
    });
  }

  it('directories in one mount are not refused, there or not', async (t) => {
    const { paths } = await createMoverRig(t);
    assert.doesNotMatch((await untrustedPlace(paths)) ?? '', /another file system/);
    await rm(paths.parkedPath, { recursive: true });
    assert.doesNotMatch((await untrustedPlace(paths)) ?? '', /another file system/);
  });
});
