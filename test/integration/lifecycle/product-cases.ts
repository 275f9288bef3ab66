/** What the product does beside upstream's cases. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import type { Eviction } from '../../../src/api/lifecycle.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { objectPath } from '../../../src/kube/resource.ts';
import { runNodemaint } from '../../support/commands/nodemaint.ts';
import {
  createRunningPod,
  EVICTIONS,
  LIFECYCLE_REQUESTS,
  type LifecycleRig,
  podBody,
  PODS,
} from '../../support/rigs/lifecycle.ts';
import { waitFor } from '../../support/wait-for.ts';
import { addKitCase } from './kit-case.ts';
import { AWAITING, DELETED, says, type Scene } from './scene.ts';

function addWholeCase(rigOf: () => LifecycleRig, scene: Scene): void {
  it('a pod is evicted for two requesters, and the Eviction is collected after its requests are deleted', async () => {
    const rig = rigOf();
    const namespace = await scene.newNamespace();
    const pod = await createRunningPod(rig, namespace, podBody('web', { finalizers: ['hold.example.com/x'] }));
    const requests = [await scene.createRequest(pod), await scene.createRequest(pod, 'bar.example.com/2')];
    const first = { metadata: { name: 'pod-1-web', namespace } };
    await scene.untilEviction(first, 'the pod is terminating', ({ status }) => {
      const message = status?.responders?.[0]?.message ?? '';
      return message.includes('is being terminated gracefully') && status?.requesters?.length === 2;
    });
    await rig.patch(PODS, pod, { metadata: { finalizers: null } });
    await scene.untilEviction(first, 'the pod has left', (each) => says(each, DELETED));
    for (const request of requests) {
      await scene.untilRequest(request, DELETED, 1);
      await rig.send({ method: 'DELETE', path: objectPath(LIFECYCLE_REQUESTS, request.metadata) });
    }
    const isGone = async (): Promise<boolean> =>
      (await rig.get<Eviction>(EVICTIONS, namespace, 'pod-1-web')) === undefined;
    await waitFor('the Eviction is collected', isGone);
  });
}

function addLabelCase(rigOf: () => LifecycleRig, scene: Scene): void {
  it('a requester whose request is deleted while another one asks has no label any more', async () => {
    const rig = rigOf();
    const namespace = await scene.newNamespace();
    const pod = await createRunningPod(rig, namespace, podBody('web', { finalizers: ['hold.example.com/x'] }));
    const leaving = 'bar.example.com/2';
    await scene.createRequest(pod);
    const request = await scene.createRequest(pod, leaving);
    const first = { metadata: { name: 'pod-1-web', namespace } };
    await scene.untilEviction(first, 'both are named', ({ metadata, status }) => {
      return metadata.labels?.[leaving] === 'requester' && status?.requesters?.length === 2;
    });
    await rig.send({ method: 'DELETE', path: objectPath(LIFECYCLE_REQUESTS, request.metadata) });
    const { metadata, status } = await scene.untilEviction(first, 'one of them is not labelled any more', (each) => {
      return each.metadata.labels?.[leaving] === undefined;
    });
    assert.equal(metadata.labels?.['foo.example.com/1'], 'requester');
    assert.deepEqual(status?.requesters, [
      { name: 'foo.example.com/1', intent: 'Eviction' },
      { name: leaving, intent: 'Withdrawn' },
    ]);
    await rig.patch(PODS, pod, { metadata: { finalizers: null } });
  });
}

function addMirrorCase(rigOf: () => LifecycleRig, scene: Scene): void {
  it('a mirror pod is given to the agent of its node, and never to the default evictor', async () => {
    const rig = rigOf();
    const namespace = await scene.newNamespace();
    const annotations = { 'kubernetes.io/config.mirror': 'x' };
    const pod = await rig.create<Pod>(PODS, namespace, podBody('static', { annotations }, { nodeName: 'nowhere' }));
    await scene.createRequest(pod);
    const first = { metadata: { name: 'pod-1-static', namespace } };
    const responder = 'nowhere.static.nodemaintenance.x-k8s.io/kubelet';
    const { status } = await scene.untilEviction(first, 'the agent of its node has its turn', (each) =>
      says(each, AWAITING),
    );
    assert.deepEqual(status?.targetResponders, [{ name: responder, priority: 10_000, state: 'Active' }]);
    const now = await rig.get<Pod>(PODS, namespace, 'static');
    assert.equal(now?.metadata.deletionTimestamp, undefined);
  });
}

function addBundleCase(rigOf: () => LifecycleRig, scene: Scene): void {
  it('the bundle of the cluster has the requests and the Evictions, and no secret of theirs', async () => {
    const rig = rigOf();
    const { adminKubeconfig, logs } = rig.controlPlane;
    const namespace = await scene.newNamespace();
    const pod = await createRunningPod(rig, namespace, podBody('web', { finalizers: ['hold.example.com/x'] }));
    const request = await scene.createRequest(pod);
    const annotations = { planted: 'password: hush-planted' };
    await rig.patch(LIFECYCLE_REQUESTS, request, { metadata: { annotations } });
    const eviction = { metadata: { name: 'pod-1-web', namespace } };
    await scene.untilEviction(eviction, 'the Eviction is there', () => true);
    await rig.patch(EVICTIONS, eviction, { metadata: { annotations } });
    const archive = path.join(logs, 'bundle.tar.gz');
    const access = ['--kubeconfig', adminKubeconfig];
    const { code, stderr } = await runNodemaint(['bundle', '--cluster', '-o', archive, ...access]);
    assert.deepEqual([code, stderr], [0, '']);
    for (const [part, kind] of [
      ['lifecycle-requests.json', 'EvictionRequest'],
      ['lifecycle-evictions.json', 'Eviction'],
    ] as const) {
      const { stdout } = await promisify(execFile)('tar', ['xzOf', archive, '--wildcards', `*/${part}`]);
      assert.match(stdout, new RegExp(`"kind": ?"${kind}List"`), part);
      assert.ok(stdout.includes(`"namespace": "${namespace}"`), part);
      assert.match(stdout, /\[taken out\]/, part);
      assert.ok(!stdout.includes('hush-planted'), part);
    }
    await rig.patch(PODS, pod, { metadata: { finalizers: null } });
  });
}

/** Adds the cases; the controller and the add-on have to run. */
export function addProductCases(rigOf: () => LifecycleRig, scene: Scene): void {
  addWholeCase(rigOf, scene);
  addLabelCase(rigOf, scene);
  addMirrorCase(rigOf, scene);
  addKitCase(rigOf, scene);
  addBundleCase(rigOf, scene);
}
