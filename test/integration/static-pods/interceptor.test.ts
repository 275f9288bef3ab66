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

  /** A static pod, its mirror pod and a request for it, which no interceptor handles yet. */
  async function createPod(
    name: string,
    options: { readonly nodeName?: string; readonly uid?: string } = {},
  ): Promise<string> {
    await mirrors.writeManifest(name);
    const mirror = await mirrors.createMirror(name, options.nodeName);
    const uid = options.uid ?? mirror.metadata.uid ?? '';
    await mirrors.createRequest(name, uid);
    return uid;
  }

  /** For some iterations of the loop: nothing moves and nothing is said. */
  async function assertIgnored(name: string, uid: string): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    assert.equal(await inPlace(name), true, 'the manifest stays');
    assert.equal(await entryOf(uid), undefined, 'nothing is reported, least of all a completion');
  }

  let passedBy = '';

  it('the agent does nothing about a request that has passed it by while no maintenance targets the pod', async () => {
    passedBy = await createPod('late');
    await mirrors.activate(passedBy);
    await mirrors.activate(passedBy, [], 1);
    await assertIgnored('late', passedBy);
  });

  it('the agent does nothing while no maintenance targets the pod, and acts when one does', async () => {
    await mirrors.target([
      { podType: 'DaemonSet', podPriority: 2_147_483_647 },
      { podType: 'Static', podPriority: -1 },
    ]);
    const uid = await createPod('dns');
    await mirrors.activate(uid);
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

  it('the agent moves the manifest of a pod whose request has passed it by, and reports nothing in it', async () => {
    await waitFor('the manifest is moved', async () => !(await inPlace('late')), { program: agent });
    assert.equal(await entryOf(passedBy), undefined);
  });

  it('the interceptor never completes while no container runtime can say that the containers have ended', async () => {
    const [request] = await rig.controlPlane
      .kubectl(['get', 'evreq', '-A', '-o', 'jsonpath={.items[*].metadata.name}'])
      .then((text) => text.split(' '));
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    assert.equal((await entryOf(request ?? ''))?.completionTime, undefined);
  });

  it('the agent does nothing while another interceptor is active', async () => {
    const uid = await createPod('proxy');
    await mirrors.activate(uid, ['backup.example.com']);
    await assertIgnored('proxy', uid);
    await mirrors.activate(uid, ['backup.example.com'], 1);
    await waitFor('the manifest is moved', async () => !(await inPlace('proxy')), { program: agent });
  });

  it('the agent does nothing for a request whose UID is that of an earlier mirror pod, and says why', async () => {
    const uid = await createPod('stale', { uid: '11111111-2222-3333-4444-555555555555' });
    await mirrors.activate(uid);
    await assertIgnored('stale', uid);
    await waitForLog(/for an earlier mirror pod kube-system\/stale-node-z \(11111111-.*not acted upon/);
  });

  it("the agent does nothing for a pod with the name of its manifest on another node, though the request has the node's label", async () => {
    const uid = await createPod('twin', { nodeName: 'node-other' });
    await mirrors.activate(uid);
    await assertIgnored('twin', uid);
    await waitForLog(/no mirror pod kube-system\/twin-node-z/);
  });

  it('the agent lets etcd wait for the other static pods, and says for which', async () => {
    await mirrors.writeManifest('orphan', { app: 'without-a-mirror-pod' });
    await mirrors.writeManifest('etcd', { component: 'etcd' });
    const uid = (await mirrors.createMirror('etcd')).metadata.uid ?? '';
    await mirrors.createRequest('etcd', uid);
    await mirrors.activate(uid);
    await waitFor('that is said', async () => (await entryOf(uid)) !== undefined, { program: agent });
    const { message = '' } = (await entryOf(uid)) ?? {};
    assert.match(
      message,
      /etcd-node-z is to leave: etcd leaves after the other static pods; waiting for kube-system\/stale-/,
    );
    assert.equal(await inPlace('etcd'), true);
  });

  it('the agent gives a manifest back only when the maintenance is known to be over', async () => {
    // Without a runtime the agent does not know whether the containers have ended: the manifests wait for the next boot, or for the runtime.
    await rig.controlPlane.kubectl(['delete', 'nm', '--all', '--wait=false']);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const found = (await readdir(mirrors.parkedPath)).filter((name) => !name.startsWith('.'));
    assert.deepEqual(found, ['dns.yaml', 'late.yaml', 'proxy.yaml']);
  });
});
