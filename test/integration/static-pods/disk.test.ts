import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, lstat, open, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { NodemaintError } from '../../../src/errors.ts';
import { createDisk } from '../../../src/static-pods/disk/disk.ts';
import { createMover } from '../../../src/static-pods/mover.ts';
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
    assert.equal((await createMover(rig.paths, rig.disk).recover()).failed.length, 0, 'the journal is whole');
  });

  it('a full disk on another file system leaves the manifest in place, and the other manifests are moved', async (t) => {
    const rig = await createMoverRig(t, small('parked'));
    const large = path.join(rig.paths.staticPodPath, 'large.yaml');
    await writeFile(large, `${POD}#${'x'.repeat(100_000)}`);
    await assertFails(
      park(rig.mover, 'large.yaml'),
      /cannot park the manifest "large\.yaml" .*No space left on device/,
    );
    assert.deepEqual((await readdir(rig.paths.staticPodPath)).sort(), ['large.yaml', 'web.yaml']);
    assert.deepEqual(await readdir(rig.paths.parkedPath), []);
    await rm(large);
    await park(rig.mover);
    await assertUntouched(rig, 'parkedPath');
  });
});

describe('a read-only file system', () => {
  it('a read-only static pod directory keeps a manifest from being parked, and the reason is reported', async (t) => {
    const rig = await createMoverRig(t, small('manifests'));
    execFileSync('mount', ['-o', 'remount,ro', rig.paths.staticPodPath]);
    await assertFails(park(rig.mover), /cannot park the manifest "web\.yaml" .*EROFS: read-only file system/);
    await assertUntouched(rig, 'staticPodPath');
  });

  it('a read-only static pod directory keeps a manifest parked; the next start reports it, and a later start gives the manifest back', async (t) => {
    const rig = await createMoverRig(t, small('manifests'));
    await park(rig.mover);
    execFileSync('mount', ['-o', 'remount,ro', rig.paths.staticPodPath]);
    await assertFails(
      rig.mover.restore('web.yaml'),
      /cannot restore the manifest "web\.yaml" .*[Rr]ead-only file system/,
    );
    await assertUntouched(rig, 'parkedPath');
    const next = createMover(rig.paths, rig.disk);
    const { failed } = await next.recover();
    assert.match(failed[0]?.reason ?? '', /[Rr]ead-only file system/);
    assert.equal(next.parkSteps().get('web.yaml')?.maintenance, 'm', 'what it was parked for is not forgotten');

    execFileSync('mount', ['-o', 'remount,rw', rig.paths.staticPodPath]);
    assert.deepEqual((await createMover(rig.paths, rig.disk).recover()).failed, []);
    await assertUntouched(rig, 'staticPodPath');
  });

  it('a read-only journal is named at the start; a shutdown parks all the same, and the parked manifests come back', async (t) => {
    const rig = await createMoverRig(t, small('state'));
    execFileSync('mount', ['-o', 'remount,ro', path.join(rig.root, 'state')]);
    const mover = createMover(rig.paths, rig.disk);
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
    const rig = await createMoverRig(t, () => {}, createDisk());
    await chmod(rig.root, 0o755);
    execFileSync('chown', ['-R', String(NOBODY), path.join(rig.root, 'parked'), path.join(rig.root, 'state')]);
    await asNobody(() =>
      assertFails(park(rig.mover), /cannot park the manifest "web\.yaml" .*EACCES: permission denied/),
    );
    await assertUntouched(rig, 'staticPodPath');
  });
});

describe('two file systems', () => {
  it('a move between two file systems keeps mode, owner, times and attributes of a manifest there and back', async (t) => {
    // The attribute of this test is one that only a process with CAP_SYS_ADMIN may set.
    const rig = await createMoverRig(t, small('parked'), createDisk());
    const file = path.join(rig.paths.staticPodPath, 'web.yaml');
    execFileSync('chown', ['1234:4321', file]);
    await chmod(file, 0o640);
    execFileSync('touch', ['-d', '2020-02-03 04:05:06.789012345', file]);
    const attribute = (place: string): string =>
      execFileSync('python3', [
        '-c',
        'import os,sys; print(os.getxattr(sys.argv[1], "trusted.label"))',
        place,
      ]).toString();
    execFileSync('python3', ['-c', 'import os,sys; os.setxattr(sys.argv[1], "trusted.label", b"x")', file]);
    const facts = async (place: string) => {
      const { mode, uid, gid, mtimeNs, size } = await lstat(place, { bigint: true });
      return { mode, uid, gid, mtimeNs, size, label: attribute(place) };
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

  it('a move between two file systems moves a symbolic link as the link that it is', async (t) => {
    const rig = await createMoverRig(t, small('parked'));
    await symlink('../elsewhere.yaml', path.join(rig.paths.staticPodPath, 'link.yaml'));
    await park(rig.mover, 'link.yaml');
    assert.equal(await readlink(path.join(rig.paths.parkedPath, 'link.yaml')), '../elsewhere.yaml');
    assert.equal(await rig.mover.restore('link.yaml'), 'restored');
    assert.equal(await readlink(path.join(rig.paths.staticPodPath, 'link.yaml')), '../elsewhere.yaml');
  });

  it('a move between two file systems keeps mode, owner and times with the capabilities of the unit too', async (t) => {
    const rig = await createMoverRig(t, small('parked'));
    const file = path.join(rig.paths.staticPodPath, 'web.yaml');
    execFileSync('chown', ['1234:4321', file]);
    await chmod(file, 0o640);
    const facts = async (place: string) => {
      const { mode, uid, gid, mtimeNs } = await lstat(place, { bigint: true });
      return { mode, uid, gid, mtimeNs };
    };
    const original = await facts(file);
    await park(rig.mover);
    assert.deepEqual(await facts(path.join(rig.paths.parkedPath, 'web.yaml')), original);
    assert.equal(await rig.mover.restore('web.yaml'), 'restored');
    assert.deepEqual(await facts(file), original);
  });

  it('a move between two file systems loses nothing of a writer that the agent cannot see', async (t) => {
    const rig = await createMoverRig(t, small('parked'));
    {
      await using handle = await open(path.join(rig.paths.staticPodPath, 'web.yaml'), 'r+');
      await park(rig.mover);
      await handle.write('# late\n', 0);
    }
    const kept = path.join(rig.paths.staticPodPath, '.nodemaint-superseded', '1', 'web.yaml');
    assert.match(await readFile(kept, 'utf8'), /^# late/);
    assert.equal(await readFile(path.join(rig.paths.parkedPath, 'web.yaml'), 'utf8'), POD);
    {
      await using handle = await open(path.join(rig.paths.parkedPath, 'web.yaml'), 'r+');
      assert.equal(await rig.mover.restore('web.yaml'), 'restored');
      await handle.write('# later\n', 0);
    }
    assert.match(await readFile(path.join(rig.paths.parkedPath, '.superseded', '1', 'web.yaml'), 'utf8'), /^# later/);
    assert.equal(await readFile(path.join(rig.paths.staticPodPath, 'web.yaml'), 'utf8'), POD);
  });

  it('a manifest stays in place while a process writes it, and the report names the process', async (t) => {
    // With all capabilities: a process of the same user that has no more of them than the agent is seen by it.
    const rig = await createMoverRig(t, small('parked'), createDisk());
    {
      await using handle = await open(path.join(rig.paths.staticPodPath, 'web.yaml'), 'r+');
      await assertFails(park(rig.mover), new RegExp(`process ${process.pid} is writing it`));
      await assertUntouched(rig, 'staticPodPath');
      await handle.write('# finished\n', 0);
    }
    await park(rig.mover);
    assert.match(await readFile(path.join(rig.paths.parkedPath, 'web.yaml'), 'utf8'), /^# finished/);
  });

  it('no manifest is hidden under a mount point at which nothing is mounted', async (t) => {
    const rig = await createMoverRig(t, small('manifests'));
    await park(rig.mover);
    execFileSync('umount', ['--lazy', rig.paths.staticPodPath]);
    await assertFails(rig.mover.restore('web.yaml'), /was a mount point and nothing is mounted there now/);
    await assertUntouched(rig, 'parkedPath');
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', rig.paths.staticPodPath]);
    assert.equal(await rig.mover.restore('web.yaml'), 'restored');
    await assertUntouched(rig, 'staticPodPath');
  });

  it('the mover tells two mounts of one file system apart, which no rename crosses either', async (t) => {
    const rig = await createMoverRig(t, ({ root, mount }) => {
      mount('parked', '--bind', path.join(root, 'parked'));
    });
    await park(rig.mover);
    await assertUntouched(rig, 'parkedPath');
    assert.equal(await rig.mover.restore('web.yaml'), 'restored');
    await assertUntouched(rig, 'staticPodPath');
  });
});
