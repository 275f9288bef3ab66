/** The .rpm, by a real rpm, in a root of its own in which no systemd runs: an image that somebody builds. */
import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { makePackage } from '../../.ci/package.ts';
import { makeTestFolder } from '../support/folder.ts';
import { findMirror, runContained } from '../systemd/debian.ts';

/** Files and folders, without what rpm keeps of its own and what is of no package. */
const LIST = "cd $1 && find etc usr var opt -xdev ! -path 'var/lib/rpm*' ! -path 'var/cache/*' | sort";
/** This rpm is one for Debian, whose database has none of the packages that are needed. */
const RPM = 'rpm --root $1 --force-debian --nodeps';

/** In the order of its lines: install, ask, upgrade to the same version, ask, erase. */
const SCRIPT = `set -e
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --bind /dev "$1/dev"
(${LIST}) > "$3.before"
${RPM} -i "$2"
${RPM} -V nodemaint
chroot $1 nodemaint --version
chroot $1 test -L /etc/systemd/system/multi-user.target.wants/nodemaint.service
${RPM} -U --replacepkgs "$2" 2> "$3.upgrade"
! grep 'scriptlet failed' "$3.upgrade"
${RPM} -e nodemaint
(${LIST}) > "$3.after"
diff "$3.before" "$3.after" | grep '^[<>]' > "$3" || :
`;

describe('the .rpm', () => {
  let folder: string;

  before(async () => {
    folder = await makeTestFolder('rpm');
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it('the .rpm is installed, upgraded and erased, and leaves its configuration and nothing else', async () => {
    const { signal } = new AbortController();
    const root = path.join(folder, 'root');
    const include = '--include=systemd,dbus,util-linux,findutils';
    await runContained(['debootstrap', '--variant=minbase', include, 'bookworm', root, await findMirror()], signal);
    const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
    const rpm = await makePackage({ architecture, format: 'rpm', epochSec: 0, target: folder }, signal);
    const script = path.join(folder, 'script');
    await writeFile(script, SCRIPT);
    const left = path.join(folder, 'left');
    await runContained(['sh', script, root, rpm, left], signal);
    const ofDistribution = /^> usr\/share\/(?:fish|zsh)(?:\/\w+-?\w*|\/vendor_completions\.d)?$/;
    const lines = (await readFile(left, 'utf8')).trim().split('\n');
    assert.deepEqual(
      lines.filter((line) => !ofDistribution.test(line)),
      ['> etc/nodemaint', '> etc/nodemaint/.places', '> etc/nodemaint/config.yaml', '> var/lib/nodemaint'],
    );
  });
});
