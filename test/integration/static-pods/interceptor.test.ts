import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { InterceptorStatus } from '../../../src/api/eviction-request.ts';
import { type Program } from '../../control-plane/process.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { playLivingController } from '../../support/stand-ins/living-controller.ts';
import { buildMirrorRig, type MirrorRig } from '../../support/rigs/mirror.ts';
import { readAgentStatus, startNodemaint } from '../../support/commands/nodemaint.ts';
import { waitFor } from '../../support/wait-for.ts';

const KUBELET = 'kubelet.k8s.io';
const LOOK_MS = 2_500;

describe('the interceptor kubelet.k8s.io, as the identity of its node, on a real API server', () => {
  let rig: EvictionRig;
  let mirrors: MirrorRig;
  let agent: Program;
  const ended = new AbortController();
  let controller: Promise<void>;

  before(async () => {
    rig = await buildEvictionRig();
    mirrors = await buildMirrorRig(rig);
    controller = playLivingController(rig.client, ended.signal);
    agent = startNodemaint(['agent', '--config', mirrors.configFile], path.join(rig.folder, 'agent.log'));
    await waitFor('the agent answers', async () => (await readAgentStatus(mirrors.runDirectory)).node === NODE, {
      program: agent,
    });
  });
  after(async () => {
    await agent?.stop();
    ended.abort();
    await controller;
    await rig?.[Symbol.asyncDispose]();
  });

  const inPlace = async (name: string): Promise<boolean> =>
    (await readdir(mirrors.staticPodPath)).includes(`${name}.yaml`);
  const entryOf = async (uid: string): Promise<InterceptorStatus | undefined> =>
    (await mirrors.getRequest(uid))?.status?.interceptors?.find(
      ({ name, message }) => name === KUBELET && message !== '',
    );
  const waitForLog = async (words: RegExp): Promise<void> => {
    const isLogged = async (): Promise<boolean> =>
      words.test(await readFile(path.join(rig.folder, 'agent.log'), 'utf8'));
    await waitFor(`the log has ${String(words)}`, isLogged, { program: agent });
  };

  /** A static pod, its mirror pod and a request for it, or for another UID, whose turn the kubelet has. */
  async function createPod(name: string, otherUid?: string): Promise<string> {
    await mirrors.writeManifest(name);
    const mirror = await mirrors.createMirror(name);
    const uid = otherUid ?? mirror.metadata.uid ?? '';
    await mirrors.createRequest(name, uid);
    await mirrors.activate(uid);
    return uid;
  }

  /** For some iterations of the loop: nothing moves and nothing is said. */
  async function assertIgnored(name: string, uid: string): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    assert.equal(await inPlace(name), true, 'the manifest stays');
    assert.equal(await entryOf(uid), undefined, 'nothing is reported, least of all a completion');
  }

  it('the agent does nothing while no maintenance targets the pod, and acts when one does', async () => {
    await mirrors.target([
      { podType: 'DaemonSet', podPriority: 2_147_483_647 },
      { podType: 'Static', podPriority: -1 },
    ]);
    const uid = await createPod('dns');
    await assertIgnored('dns', uid);

    const began = Date.now();
    await mirrors.target([{ podType: 'Static', podPriority: 7000 }]);
    await waitFor('the manifest is moved', async () => !(await inPlace('dns')), { program: agent });
    await waitFor('that is said', async () => (await entryOf(uid)) !== undefined, { program: agent });
    const entry = await entryOf(uid);
    assert.equal(entry?.message, `dns-${NODE} is terminating the pod due to node maintenance (OS upgrade).`);
    const finish = Date.parse(entry?.expectedFinishTime ?? '') - began;
    assert.ok(finish >= 29_000 && finish < 45_000, `expected finish ${finish} ms after the start, grace period 30 s`);
    assert.ok(Date.parse(entry?.heartbeatTime ?? '') >= began - 1_000);
  });

  it('the agent does nothing for a request whose UID is that of an earlier mirror pod, and says why', async () => {
    const uid = await createPod('stale', '11111111-2222-3333-4444-555555555555');
    await assertIgnored('stale', uid);
    await waitForLog(/for an earlier mirror pod kube-system\/stale-node-z \(11111111-.*not acted upon/);
  });
});
