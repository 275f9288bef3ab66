/** Directories through which root is to be led astray: nothing is moved, the drain goes on, and people are told. */
import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { findPlaces } from '../../../src/static-pods/places.ts';
import { untrustedPlace } from '../../../src/static-pods/trusted-places.ts';
import { type AgentSandbox, inSandbox, withAgent } from '../../support/agent/sandbox.ts';
import { readAgentStatus, runNodemaint } from '../../support/commands/nodemaint.ts';
import { startStaticPodRuntime } from '../../support/stand-ins/static-pod-runtime.ts';
import { waitFor } from '../../support/wait-for.ts';
import { NEEDS_ROOT } from '../../support/root.ts';

const NODE = 'n';

function manifestOf(name: string): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: {} });
}

/** Runs `body` beside an agent whose static pods are in `directory`; returns its log. */
async function withPlace(
  t: TestContext,
  sandbox: AgentSandbox,
  directory: string,
  body: () => Promise<void>,
): Promise<string> {
  await sandbox.writeConfig({ staticPodPath: directory, kubeletHealthz: '' });
  const runtime = { staticPodPath: directory, socketPath: path.join(sandbox.root, 'cri.sock'), nodeName: NODE };
  await using _runtime = await startStaticPodRuntime(runtime, t.signal);
  return await withAgent(sandbox, body);
}

async function phaseBecomes(sandbox: AgentSandbox, kind: string): Promise<void> {
  const ask = async (): Promise<boolean> => (await readAgentStatus(sandbox.runDirectory)).phase.kind === kind;
  await waitFor(`the phase is ${kind}`, ask);
}

async function trigger(sandbox: AgentSandbox): Promise<void> {
  await runNodemaint(['trigger', '--reason', 'test', '--run-directory', sandbox.runDirectory]);
}

async function inFolders(folders: string[], body: (sandbox: AgentSandbox, at: typeof path.join) => Promise<void>) {
  await inSandbox(async (sandbox) => {
    const at = (...names: string[]): string => path.join(sandbox.root, ...names);
    for (const folder of folders) await mkdir(at(folder), { recursive: true });
    await body(sandbox, at);
  });
}

describe('static pod directories that another user controls', { skip: NEEDS_ROOT }, () => {
  it('the agent moves no manifest where the parked directory is the static pod directory by another name', async () => {
    await inFolders(['real/pods', 'real/pods/deeper'], async (_, at) => {
      await symlink(at('real'), at('other'));
      const places = async (parkedPath: string): Promise<string | undefined> =>
        await untrustedPlace(
          await findPlaces({ staticPodPath: at('real/pods'), parkedPath, stateDirectory: at('state') }),
        );
      assert.match((await places(at('other/pods'))) ?? '', /is the directory of the static pods itself/);
      assert.match((await places(at('other/pods/deeper'))) ?? '', /lies in the directory of the static pods/);
      assert.match((await places(at('other'))) ?? '', /contains the static pods/);
      assert.equal(await places(at('other/parked')), undefined);
    });
  });

  it('the agent moves no manifest through a parked directory that is a link', async (t) => {
    await inFolders(['theirs/pods', 'profile.d'], async (sandbox, at) => {
      await writeFile(at('theirs/pods/pwn.sh'), manifestOf('pwn'));
      await symlink(at('profile.d'), at('theirs/nodemaint-parked'));
      const log = await withPlace(t, sandbox, at('theirs/pods'), async () => {
        await trigger(sandbox);
        await phaseBecomes(sandbox, 'released');
        const { warnings } = await readAgentStatus(sandbox.runDirectory);
        assert.match(warnings.join('\n'), /theirs\/nodemaint-parked is not trusted: it is a symbolic link/);
      });
      assert.deepEqual(await readdir(at('profile.d')), []);
      assert.deepEqual(await readdir(at('theirs/pods')), ['pwn.sh']);
      assert.equal(log.match(/no manifest is moved/g)?.length, 1, 'it is said once');
    });
  });

  it('the agent takes nothing out of the directory of the real static pods that a parked directory links to', async (t) => {
    await inFolders(['theirs/pods', 'real'], async (sandbox, at) => {
      await writeFile(at('real/etcd.yaml'), manifestOf('etcd'));
      await symlink(at('real'), at('theirs/nodemaint-parked'));
      await withPlace(t, sandbox, at('theirs/pods'), async () => {
        // A file that no step parked is given back at once.
        await phaseBecomes(sandbox, 'watching');
        await delay(2_000);
        assert.deepEqual(await readdir(at('real')), ['etcd.yaml']);
      });
      assert.deepEqual(await readdir(at('real')), ['etcd.yaml']);
      assert.deepEqual(await readdir(at('theirs/pods')), []);
    });
  });

  it('the agent uses the directories as soon as they are put right, without a restart, and gives back what lies parked', async (t) => {
    await inFolders(['kubernetes/manifests', 'kubernetes/nodemaint-parked'], async (sandbox, at) => {
      await writeFile(at('kubernetes/nodemaint-parked/web.yaml'), manifestOf('web'));
      await chmod(at('kubernetes'), 0o775);
      const log = await withPlace(t, sandbox, at('kubernetes/manifests'), async () => {
        await phaseBecomes(sandbox, 'watching');
        const { warnings } = await readAgentStatus(sandbox.runDirectory);
        assert.match(warnings.join('\n'), /its group may write to it \(mode 0775\).*chmod go-w \S+kubernetes$/m);
        assert.deepEqual(await readdir(at('kubernetes/manifests')), []);
        const restore = ['restore', 'web.yaml', '--config', sandbox.configFile];
        const refused = await runNodemaint(restore);
        assert.notEqual(refused.code, 0);
        assert.match(refused.stderr, /kubernetes is not trusted: its group may write to it/);
        await chmod(at('kubernetes'), 0o755);
        const done = await runNodemaint(restore);
        assert.equal(done.code, 0, done.stderr);
        assert.deepEqual((await readAgentStatus(sandbox.runDirectory)).warnings, []);
      });
      assert.deepEqual(await readdir(at('kubernetes/manifests')), ['web.yaml']);
      assert.match(log, /manifests are moved again/);
    });
  });

  it('the directory may be a link that root made in a place of its own', async (t) => {
    await inFolders(['etc', 'data/manifests'], async (sandbox, at) => {
      await writeFile(at('data/manifests/web.yaml'), manifestOf('web'));
      await symlink(at('data/manifests'), at('etc/manifests'));
      await withPlace(t, sandbox, at('etc/manifests'), async () => {
        await trigger(sandbox);
        await phaseBecomes(sandbox, 'released');
      });
      assert.deepEqual(await readdir(at('data/nodemaint-parked')), ['web.yaml']);
      const places = { staticPodPath: at('etc/manifests'), stateDirectory: at('state') };
      assert.equal(await untrustedPlace(await findPlaces(places)), undefined);
      // Where everybody may write, anybody could have made it.
      await chmod(at('etc'), 0o1777);
      assert.match((await untrustedPlace(await findPlaces(places))) ?? '', /etc is not trusted: everybody may write/);
    });
  });
});
