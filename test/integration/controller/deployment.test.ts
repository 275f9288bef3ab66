import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { Lease } from '../../../src/api/lease.ts';
import { rfc3339 } from '../../../src/decide/time.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { HOST_FROM_PODS } from '../../node/network.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { deployment } from '../../node/pods.ts';
import { installManifests } from '../../support/commands/nodemaint.ts';
import { waitFor } from '../../support/wait-for.ts';
import { drainOf } from '../../support/maintenance/objects.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const NODES = ['node-a', 'node-b'] as const;
const SELECTOR = 'app.kubernetes.io/name=nodemaint-controller';

interface Listed {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    readonly spec: { readonly nodeName?: string };
    readonly status: {
      readonly phase: string;
      readonly podIP?: string;
      readonly conditions?: readonly { readonly type: string; readonly status: string }[];
      readonly containerStatuses?: readonly { readonly restartCount: number }[];
    };
  }[];
}

/** The user's own kustomization: the whole of manifests/, and how pods reach this API server without a kube-proxy. */
function overlayOf(port: number): object {
  const env = [
    { name: 'KUBERNETES_SERVICE_HOST', value: HOST_FROM_PODS },
    { name: 'KUBERNETES_SERVICE_PORT', value: String(port) },
  ];
  const patch = JSON.stringify([{ op: 'add', path: '/spec/template/spec/containers/0/env', value: env }]);
  return {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: ['manifests'],
    patches: [{ target: { kind: 'Deployment', name: 'nodemaint-controller' }, patch }],
  };
}

describe('the Deployment of the controller on real nodes', () => {
  const signal = AbortSignal.timeout(900_000);
  const stack = new AsyncDisposableStack();
  let controlPlane: ControlPlane;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-deployment-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    // The API server calls the webhook at its pods, for there is no kube-proxy for the Service's address.
    const apiServerFlags = ['--enable-aggregator-routing=true'];
    const options = { bindAddress: '0.0.0.0', extraSans: [HOST_FROM_PODS], apiServerFlags };
    controlPlane = stack.use(await startControlPlane(options, signal));
    await installManifests(controlPlane);
    const nodes: TestNode[] = [];
    for (const name of NODES) nodes.push(stack.use(await startNode(controlPlane, name, signal)));
    for (const node of nodes) await node.importImage(path.join(ROOT, 'dist', 'nodemaint-image.tar'));
  });
  after(async () => {
    await stack.disposeAsync();
  });

  const kubectl = (...args: readonly string[]): Promise<string> => controlPlane.kubectl(args);
  const until = async (what: string, ask: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> => {
    await waitFor(what, ask, { timeoutMs, signal }).catch(async (error: unknown) => {
      const pods = await kubectl('describe', 'pods', '-n', 'nodemaint-system');
      const log = await kubectl('logs', '-n', 'nodemaint-system', '-l', SELECTOR, '--tail=20').catch(String);
      throw new Error(`${what}\n${pods}\n${log}`, { cause: error });
    });
  };
  const listPods = async (namespace: string, selector: string): Promise<Listed['items']> =>
    (JSON.parse(await kubectl('get', 'pods', '-n', namespace, '-l', selector, '-o', 'json')) as Listed).items;
  const readyPods = async (): Promise<Listed['items']> =>
    (await listPods('nodemaint-system', SELECTOR)).filter(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined &&
        status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
    );
  /** The pod that leads. */
  const leader = async (): Promise<string> => {
    const text = await kubectl('get', 'lease', '-n', 'nodemaint-system', 'nodemaint-controller', '-o', 'json');
    return ((JSON.parse(text) as Lease).spec?.holderIdentity ?? '').split('_')[0] ?? '';
  };
  const appOn = async (): Promise<string | undefined> => {
    const [pod] = (await listPods('default', 'app=web')).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
    return pod?.spec.nodeName;
  };
  /** Drains the node by a maintenance, waits until it is drained, and completes it. */
  const drain = async (name: string, node: string): Promise<void> => {
    const maintenance = drainOf(name, [node], { reason: 'test' });
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(maintenance));
    const drained = 'jsonpath={.status.conditions[?(@.type=="Drained")].status}';
    await until(`${name} is drained`, async () => (await kubectl('get', 'nm', name, '-o', drained)) === 'True');
  };

  it('the Deployment runs two replicas, on two nodes, as an unprivileged user and with a read-only file system; both are ready, one leads', async () => {
    await promisify(execFile)('cp', ['-r', path.join(ROOT, 'manifests'), folder]);
    await writeFile(path.join(folder, 'kustomization.yaml'), JSON.stringify(overlayOf(controlPlane.port)));
    await kubectl('apply', '-k', folder);
    await until('two replicas are ready', async () => (await readyPods()).length === 2);
    const pods = await readyPods();
    assert.deepEqual(new Set(pods.map(({ spec }) => spec.nodeName)), new Set(NODES));
    const names = pods.map(({ metadata }) => metadata.name);
    await until('one leads', async () => names.includes(await leader()), 10_000);
    const leading = await leader();
    const areCounted = async (): Promise<boolean> => {
      const counted = pods.map(async ({ metadata, status }) => {
        const text = await (await fetch(`http://${status.podIP}:8080/metrics`)).text();
        const master = /^leader_election_master_status\{.*\} (\d)$/m.exec(text)?.[1];
        return master === (metadata.name === leading ? '1' : '0');
      });
      return (await Promise.all(counted)).every(Boolean);
    };
    // The leader counts itself when it has heard that it has the Lease.
    await until('the metrics of both say who leads', areCounted, 10_000);
    const found = pods.map(({ status }) => status.containerStatuses?.map(({ restartCount }) => restartCount));
    assert.deepEqual(found, [[0], [0]]);
  });

  it('the webhook refuses a time in the future', async () => {
    const actor = 'actor-a.example.com';
    const annotations = { [`interceptor.evictionrequest.coordination.k8s.io/priority_${actor}`]: '10000/controller' };
    const containers = [{ name: 'main', image: 'none.invalid/none' }];
    const metadata = { name: 'target', namespace: 'default', annotations };
    // Nobody schedules it: it stays as it is.
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { schedulerName: 'nobody', containers } };
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(pod));
    const uid = await kubectl('get', 'pod', 'target', '-o', 'jsonpath={.metadata.uid}');
    const request = {
      apiVersion: 'coordination.x-k8s.io/v1alpha1',
      kind: 'EvictionRequest',
      metadata: { name: uid, namespace: 'default' },
      spec: { target: { pod: { name: 'target', uid } }, requesters: [{ name: 'test.example.com' }] },
    };
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(request));
    const read = async (): Promise<EvictionRequest> =>
      JSON.parse(await kubectl('get', 'evreq', uid, '-o', 'json')) as EvictionRequest;
    await until('the actor has its turn', async () => (await read()).status?.activeInterceptors?.[0] === actor);
    const write = async (at: number): Promise<string> => {
      const entry = { name: actor, message: '', startTime: rfc3339(at), heartbeatTime: rfc3339(Date.now()) };
      const others = (await read()).status?.interceptors?.filter(({ name }) => name !== actor) ?? [];
      const patch = JSON.stringify({ status: { interceptors: [entry, ...others] } });
      const args = ['patch', 'evreq', uid, '--subresource=status', '--type=merge', '--dry-run=server', '-p', patch];
      return await kubectl(...args).catch(String);
    };
    const refusal = /denied the request: .* was set to .* in the future/;
    await until('the webhook is asked', async () => refusal.test(await write(Date.now() + 60_000)));
    assert.match(await write(Date.now()), /patched/);
    await kubectl('delete', 'evreq', uid);
    await kubectl('delete', 'pod', 'target', '--force', '--grace-period=0');
  });

  it('the controller drains a node, also the one on which its own leader runs, which hands over', async (context) => {
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(deployment('web', { stopSec: 1 })));
    await until('the application runs', async () => (await appOn()) !== undefined);
    const first = await leader();
    const home = (await readyPods()).find(({ metadata }) => metadata.name === first)?.spec.nodeName ?? '';
    const begun = Date.now();
    await drain('move-leader', home);
    context.diagnostic(`drained the leader's own node in ${Date.now() - begun} ms`);
    assert.notEqual(await leader(), first);
    assert.notEqual(await appOn(), home, 'the application has moved');
    await kubectl('patch', 'nm', 'move-leader', '--type=merge', '-p', '{"spec":{"stage":"Complete"}}');
    const cordoned = async (): Promise<boolean> =>
      (await kubectl('get', 'node', home, '-o', 'jsonpath={.spec.unschedulable}')) === 'true';
    await until('the node is free again', async () => !(await cordoned()));
    await until('two replicas are ready again', async () => (await readyPods()).length === 2);
  });

  it('the leader hands over when its pod is deleted, and the next one drains', async (context) => {
    const first = await leader();
    const begun = Date.now();
    await kubectl('delete', 'pod', '-n', 'nodemaint-system', first, '--wait=false');
    await until('another one leads', async () => ![first, ''].includes(await leader()), 10_000);
    context.diagnostic(`${Date.now() - begun} ms from the deletion of the leader's pod to the next leader`);
    await until('two replicas are ready', async () => (await readyPods()).length === 2);
    await until('the application runs', async () => (await appOn()) !== undefined);
    const home = (await appOn()) ?? '';
    await drain('move-again', home);
    assert.notEqual(await appOn(), home);
    await kubectl('patch', 'nm', 'move-again', '--type=merge', '-p', '{"spec":{"stage":"Complete"}}');
  });

  it('a drain of every node on which the controller may run takes the controller last, is held by the budget of an older version, which it names, and gives the Lease back when that is deleted', async (context) => {
    await until('two replicas are ready', async () => (await readyPods()).length === 2);
    await until('the application runs', async () => (await appOn()) !== undefined);
    // An older version of the manifests had this budget, and applying the newer ones does not delete it.
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'nodemaint-controller', namespace: 'nodemaint-system' },
      spec: { maxUnavailable: 1, selector: { matchLabels: { 'app.kubernetes.io/name': 'nodemaint-controller' } } },
    };
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(budget));
    const maintenance = drainOf('everything', NODES, { reason: 'test' });
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(maintenance));
    // A pod that has ended is there until the kubelet deletes it.
    const onNodes = async (namespace: string, labels: string): Promise<Listed['items']> =>
      (await listPods(namespace, labels)).filter(
        ({ spec, status }) => spec.nodeName !== undefined && ['Pending', 'Running'].includes(status.phase),
      );
    let early: readonly string[] = [];
    await until('the application is gone', async () => {
      // The replicas are read first: what is seen of the application then was there before.
      const pods = await onNodes('nodemaint-system', SELECTOR);
      const left = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      const apps = await onNodes('default', 'app=web');
      if (apps.length > 0 && left.length < 2)
        early = [...pods, ...apps].map((pod) => JSON.stringify([pod.metadata, pod.spec.nodeName, pod.status]));
      return apps.length === 0;
    });
    assert.deepEqual(early, [], 'the replicas stay while the application is there');
    const blocking = 'jsonpath={.status.nodeStatuses[*].podsBlocking[*].message}';
    const says = async (): Promise<string> => await kubectl('get', 'nm', 'everything', '-o', blocking);
    await until('the drain names the budget', async () => (await says()).includes('PodDisruptionBudget nodemaint-con'));
    const replicas = async (): Promise<number> => (await onNodes('nodemaint-system', SELECTOR)).length;
    await until('one replica is left', async () => (await replicas()) === 1);
    const deletedAt = Date.now();
    await kubectl('delete', 'poddisruptionbudget', '-n', 'nodemaint-system', 'nodemaint-controller');
    await until('no replica is left', async () => (await replicas()) === 0);
    await until('the Lease has no holder', async () => (await leader()) === '');
    context.diagnostic(`the last replica was gone ${Date.now() - deletedAt} ms after its budget`);
  });
});
