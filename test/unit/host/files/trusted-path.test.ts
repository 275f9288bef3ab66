import assert from 'node:assert/strict';
import { chmod, lchown, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { untrustedReasonOf, type PathKind, type PathPart } from '../../../../src/decide/machine/path-trust.ts';
import {
  judgePath,
  type PathTrust,
  requireTrustedPath,
  type WantedPath,
} from '../../../../src/host/files/trusted-path.ts';
import { NEEDS_ROOT } from '../../../support/root.ts';

const DIRECTORY: WantedPath = { kind: 'directory', lastLink: 'refuse' };
const LINKED: WantedPath = { kind: 'directory', lastLink: 'follow' };

const parts: [string, Partial<PathPart>, PathKind, RegExp | undefined][] = [
  ["root's directory", {}, 'directory', undefined],
  ["another user's", { uid: 1000 }, 'directory', /belongs to the user 1000; chown root \/etc\/x/],
  ['one that its group may write to', { mode: 0o775 }, 'directory', /its group may write.*0775.*chmod go-w \/etc\/x/],
  ['one that everybody may write to', { mode: 0o757 }, 'directory', /everybody may write/],
  [
    'a sticky one',
    { mode: 0o1777 },
    'directory',
    /everybody may write.*1777\); put it below a directory that only root can write to$/,
  ],
  [
    'a sticky one of a group',
    { mode: 0o1775 },
    'directory',
    /its group may write.*; put it below a directory that only root/,
  ],
  ['a file', { kind: 'file', mode: 0o644 }, 'directory', /it is no directory/],
  ["root's file", { kind: 'file', mode: 0o644 }, 'file', undefined],
  ["a file that root's group may write to", { kind: 'file', mode: 0o664 }, 'file', /its group may write/],
  ['a pipe', { kind: 'other', mode: 0o600 }, 'file', /it is no file/],
  ["root's link", { kind: 'link', mode: 0o777 }, 'directory', undefined],
  ["another user's link", { kind: 'link', mode: 0o777, uid: 7 }, 'directory', /chown -h root/],
  ['a socket that everybody may connect to', { kind: 'socket', mode: 0o777 }, 'socket', undefined],
  ["another user's socket", { kind: 'socket', mode: 0o700, uid: 7 }, 'socket', /belongs to the user 7/],
  ['a name with a blank', { path: "/etc/it's x", mode: 0o777 }, 'directory', /chmod go-w '\/etc\/it'\\''s x'/],
];

describe('one part of a path', () => {
  for (const [name, part, wanted, expected] of parts) {
    it(`one part of a path ${expected === undefined ? 'is believed' : 'is refused'}: ${name}`, () => {
      const found = untrustedReasonOf({ path: '/etc/x', kind: 'directory', uid: 0, mode: 0o755, ...part }, wanted, [0]);
      const said = found === undefined ? undefined : `${found.path}: ${found.problem}; ${found.fix}`;
      if (expected === undefined) assert.equal(said, undefined);
      else assert.match(said ?? '', expected);
    });
  }
});

describe('a path that root acts on', () => {
  let top: string;
  let trust: PathTrust;

  beforeEach(async () => {
    top = await realpath(await mkdtemp(path.join(tmpdir(), 'nodemaint-trust-')));
    trust = { top, owners: [process.geteuid?.() ?? 0] };
    await mkdir(path.join(top, 'etc', 'manifests'), { recursive: true });
  });
  afterEach(async () => await rm(top, { recursive: true }));

  const at = (...names: string[]): string => path.join(top, ...names);
  const judge = async (place: string, wanted = DIRECTORY): Promise<string> => {
    const verdict = await judgePath(place, wanted, trust);
    const said = path.relative(top, verdict.path);
    return verdict.kind === 'refused' ? `refused ${said}: ${verdict.problem}` : `${verdict.kind} ${said}`;
  };

  it('a path is believed where all of it is a directory of ours', async () => {
    assert.equal(await judge(at('etc', 'manifests')), 'trusted etc/manifests');
    assert.equal(await judge(`${at('etc')}//./manifests/`), 'trusted etc/manifests');
    assert.equal(await judge(`${at('etc')}/../etc/manifests`), 'trusted etc/manifests');
  });

  it('a path may be missing', async () => {
    assert.equal(await judge(at('etc', 'parked', 'deep')), 'missing etc/parked');
  });

  it('a path is refused below a directory that another user may write to', async () => {
    await chmod(at('etc'), 0o775);
    assert.match(await judge(at('etc', 'manifests')), /^refused etc: its group may write/);
    assert.match(await judge(at('etc', 'missing')), /^refused etc: its group may write/);
  });

  it('a path is refused where its last part is a link, and followed where that may be', async () => {
    await symlink(at('etc', 'manifests'), at('link'));
    assert.equal(await judge(at('link')), 'refused link: it is a symbolic link');
    assert.equal(await judge(`${at('link')}/.`), 'refused link: it is a symbolic link');
    assert.equal(await judge(at('link'), LINKED), 'trusted etc/manifests');
  });

  it('a path may have links before its last part, and is looked at where these lead', async () => {
    await symlink('../etc', at('etc', 'again'));
    assert.equal(await judge(at('etc', 'again', 'manifests')), 'trusted etc/manifests');
    await mkdir(at('open', 'manifests'), { recursive: true });
    await chmod(at('open'), 0o777);
    await symlink(at('open', 'manifests'), at('etc', 'out'));
    assert.match(await judge(at('etc', 'out'), LINKED), /^refused open: everybody may write/);
  });

  it('a path is refused where links lead in a circle or nowhere', async () => {
    await symlink('two', at('one'));
    await symlink('one', at('two'));
    assert.match(await judge(at('one'), LINKED), /^refused one: more than 40 symbolic links/);
    await symlink('nowhere', at('three'));
    assert.equal(await judge(at('three'), LINKED), 'missing nowhere');
  });

  it('a path is refused where a directory is a file, or has too long a name', async () => {
    await writeFile(at('file'), '');
    assert.equal(await judge(at('file', 'below')), 'refused file: it is no directory');
    assert.match(await judge(at('x'.repeat(300))), /^refused x+: it cannot be read/);
  });

  it('a path may be a file or a socket', async () => {
    await writeFile(at('file'), '', { mode: 0o600 });
    assert.equal(await judge(at('file'), { kind: 'file', lastLink: 'follow' }), 'trusted file');
    const server = createServer().listen(at('s'));
    await new Promise((resolve) => server.once('listening', resolve));
    assert.equal(await judge(at('s'), { kind: 'socket', lastLink: 'follow' }), 'trusted s');
    server.close();
  });

  it("a path is refused where it is another user's, link or directory", { skip: NEEDS_ROOT }, async () => {
    await symlink('manifests', at('etc', 'theirs'));
    await lchown(at('etc', 'theirs'), 65_534, 65_534);
    assert.equal(await judge(at('etc', 'theirs'), LINKED), 'refused etc/theirs: it belongs to the user 65534');
    await lchown(at('etc', 'manifests'), 65_534, 65_534);
    assert.equal(await judge(at('etc', 'manifests')), 'refused etc/manifests: it belongs to the user 65534');
  });

  it('a path is refused below /tmp unless a test says otherwise', { skip: NEEDS_ROOT }, async (t) => {
    if (!top.startsWith('/tmp/')) return t.skip('the temporary directory is another one');
    await assert.rejects(requireTrustedPath(at('etc'), DIRECTORY), {
      code: 'PATH_NOT_TRUSTED',
      message:
        /^\/tmp is not trusted: everybody may write to it \(mode 1777\).*: put it below a directory that only root can write to$/,
    });
  });
});
