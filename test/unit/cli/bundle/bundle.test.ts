import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { collect } from '../../../../src/cli/bundle/bundle.ts';
import { redacted } from '../../../support/redacted.ts';
import { PART_BYTES } from '../../../../src/cli/bundle/part.ts';
import { clusterParts } from '../../../../src/cli/bundle/sources.ts';
import { runNodemaint } from '../../../support/commands/nodemaint.ts';
import { PLANTED } from '../../../support/commands/planted-secrets.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';

describe('a text of a bundle', () => {
  for (const [text, secret] of PLANTED) {
    it(`a text loses its secret: ${text.slice(0, 40)}`, () => {
      const left = redacted(`before\n${text}\nafter`);
      assert.ok(!left.includes(secret), left);
      assert.match(left, /^before\n/);
    });
  }

  const all = PLANTED.map(([text]) => text).join('\n');
  for (const [what, text] of [
    ['a JSON document', JSON.stringify({ reason: all, list: PLANTED.map(([each]) => each) }, null, 1)],
    ['JSON in a text of JSON', JSON.stringify({ annotation: JSON.stringify({ reason: all }) })],
    ['a line of a log', `2026-01-01T00:00:00Z vm nodemaint[1]: ${JSON.stringify({ level: 'warn', msg: all })}`],
  ] as const) {
    it(`all planted secrets are taken out of ${what}`, () => {
      const left = redacted(text);
      for (const [planted, secret] of PLANTED) assert.ok(!left.includes(secret), planted);
    });
  }

  for (const [text] of PLANTED) {
    it(`JSON stays JSON: ${text.slice(0, 40)}`, () => {
      const objects = { items: [{ message: text, annotation: JSON.stringify({ text }) }] };
      assert.doesNotThrow(() => void JSON.parse(redacted(JSON.stringify(objects))));
    });
  }

  it('a long text keeps its end, and a part that cannot be read does not stop the others', async () => {
    const long = `${'x\n'.repeat(PART_BYTES)}the end\n`;
    const parts = [
      { name: 'a', about: '', read: () => Promise.reject(new Error('no such thing')) },
      { name: 'b', about: '', read: () => Promise.resolve(long) },
    ];
    const [a, b] = await collect(parts, AbortSignal.timeout(60_000));
    assert.equal(a?.text, '[not read: no such thing]\n');
    assert.ok((b?.text.length ?? Infinity) <= PART_BYTES + 100);
    assert.match(b?.text ?? '', /^\[the beginning is left out\]\n[\s\S]*the end\n$/);
  });

  it('a line that is cut is left out, for its beginning says what it is', async () => {
    const parts = [
      { name: 'a', about: '', read: () => Promise.resolve(`password: ${'half of it '.repeat(PART_BYTES / 8)}\nb\n`) },
    ];
    const [file] = await collect(parts, AbortSignal.timeout(60_000));
    assert.equal(file?.text, '[the beginning is left out]\nb\n');
  });

  it('the reason why a part cannot be read has no secret either', async () => {
    const parts = [{ name: 'a', about: '', read: () => Promise.reject(new Error('GET https://me:hush@x failed')) }];
    const [file] = await collect(parts, AbortSignal.timeout(60_000));
    assert.match(file?.text ?? '', /^\[not read: GET https:\/\//);
    assert.ok(!(file?.text ?? '').includes('hush'), file?.text);
  });

  it('a signal to end is heard while secrets are taken out of one part', async () => {
    const ending = new AbortController();
    const stopped = new Error('stopped');
    const long = 'token: a_key-a, '.repeat(PART_BYTES / 16);
    let looks = 0;
    const parts = [{ name: 'a', about: '', read: () => Promise.resolve(long) }];
    // Other work of the process goes on: so does the handler of a signal. It ends the work at its third turn.
    const look = (): void => {
      looks += 1;
      if (looks === 3) ending.abort(stopped);
      else setImmediate(look);
    };
    setImmediate(look);
    await assert.rejects(collect(parts, ending.signal), stopped);
    assert.equal(looks, 3);
  });
});

describe('the bundle of a node', () => {
  it('the bundle is an archive for one user, has its parts without agent and API server, and no planted secret', async (t: TestContext) => {
    const folder = await temporaryFolder(t, 'bundle');
    const state = path.join(folder, 'state');
    await mkdir(path.join(state, 'shutdowns'), { recursive: true });
    await mkdir(path.join(folder, 'manifests'));
    const config = path.join(folder, 'config.yaml');
    const own = `stateDirectory: ${state}\nstaticPodPath: ${path.join(folder, 'manifests')}\nrunDirectory: ${path.join(folder, 'run')}\n`;
    const planted = PLANTED.map(([text]) => text.replaceAll('\n', '\n# ')).join('\n# ');
    const kind = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';
    await writeFile(config, `${kind}${own}# ${planted}\n`);
    await writeFile(path.join(state, 'record.json'), planted);
    await writeFile(path.join(state, 'shutdowns', '1.json'), JSON.stringify({ reason: planted }));
    const archive = path.join(folder, 'b.tar.gz');
    const { code, stdout, stderr } = await runNodemaint(['bundle', '--config', config, '-o', archive]);
    assert.deepEqual([code, stdout], [0, `${archive}\n`], stderr);
    assert.equal((await stat(archive)).mode & 0o777, 0o600);
    await promisify(execFile)('tar', ['xzf', archive, '-C', folder]);
    const { stdout: list } = await promisify(execFile)('tar', ['tzf', archive]);
    const names = list.trim().split('\n');
    assert.ok(names.length >= 15, list);
    for (const name of names) {
      const text = await readFile(path.join(folder, name), 'utf8');
      for (const [, secret] of PLANTED) assert.ok(!text.includes(secret), `${name} has ${secret}`);
    }
    const folderName = names[0]?.split('/')[0] ?? '';
    assert.match(await readFile(path.join(folder, folderName, 'config.yaml'), 'utf8'), /stateDirectory: /);
    const again = await runNodemaint(['bundle', '--config', config, '-o', archive]);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /cannot write the bundle .*EEXIST/);
  });
});

describe('the bundle of a cluster', () => {
  const signal = (): AbortSignal => AbortSignal.timeout(60_000);

  it('the bundle has the policy that refuses DaemonSet pods where none gates them', async () => {
    const policy = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/nodemaint-daemonset-gate';
    const { client } = createObjectServer({ [policy]: { kind: 'ValidatingAdmissionPolicy' } });
    const parts = clusterParts(client, []).filter(({ name }) => name === 'daemonset-gate.json');
    assert.match((await collect(parts, signal()))[0]?.text ?? '', /"ValidatingAdmissionPolicy"/);
  });
});
