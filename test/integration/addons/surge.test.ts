import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Deployment } from '../../../src/addons/surge/api/deployment.ts';
import { SURGE_ANNOTATION, SURGE_INTERCEPTOR } from '../../../src/addons/surge/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import type { Program } from '../../control-plane/process.ts';
import { startNode } from '../../node/node.ts';
import { deployment } from '../../node/pods.ts';
import { startInstalledCluster } from '../../support/commands/installed-cluster.ts';
import { startNodemaint, withoutDeployments } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { intercepts } from '../../support/rigs/eviction.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const NODES = ['node-a', 'node-b'] as const;
const ACCOUNT = 'system:serviceaccount:nodemaint-system:nodemaint-surge';
const GROUPS = ['system:serviceaccounts', 'system:serviceaccounts:nodemaint-system', 'system:authenticated'];

/** A Deployment of one pod that must always be there: its budget allows no eviction. */
function guarded(name: string): readonly object[] {
  const { metadata, spec } = deployment(name) as { metadata: object; spec: { template: { metadata: object } } };
  const template = {
    ...spec.template,
    metadata: { ...spec.template.metadata, annotations: intercepts(SURGE_INTERCEPTOR, 10_000) },
  };
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
  return [
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { ...spec, template, strategy } },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name, namespace: 'default' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: name } } },
    },
  ];
}

describe('another pod of a Deployment before one of its pods leaves, on two real nodes', () => {
  const signal = AbortSignal.timeout(280_000);
  const stack = new AsyncDisposableStack();
  let controlPlane: ControlPlane;
  let folder: string;
  let kubeconfig: string;
  before(async () => {
    folder = await makeTestFolder('surge');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const cluster = stack.use(await startInstalledCluster({}, signal));
    ({ controlPlane } = cluster);
    const manifests = await controlPlane.kubectl(['kustomize', path.join(ROOT, 'manifests', 'surge')]);
    await controlPlane.kubectl(['apply', '-f', '-'], withoutDeployments(manifests));
    kubeconfig = await controlPlane.kubeconfigFor(ACCOUNT, GROUPS);
    for (const name of NODES) stack.use(await startNode(controlPlane, name, signal));
    const flags = ['controller', '--kubeconfig', cluster.controllerKubeconfig, '--leader-elect', 'false'];
    stack.use(startNodemaint(flags, path.join(folder, 'controller.log')));
  });
  after(async () => {
    await stack.disposeAsync();
  });

  const kubectl = (...args: readonly string[]): Promise<string> => controlPlane.kubectl(args);
  const startSurge = (...flags: readonly string[]): Program =>
    startNodemaint(['surge', '--kubeconfig', kubeconfig, ...flags], path.join(folder, 'surge.log'));
  const read = async (name: string): Promise<Deployment> =>
    JSON.parse(await kubectl('get', 'deployment', name, '-o', 'json')) as Deployment;
  const podsOf = async (name: string): Promise<readonly Pod[]> =>
    (JSON.parse(await kubectl('get', 'pods', '-l', `app=${name}`, '-o', 'json')) as { items: Pod[] }).items;
  const available = async (name: string): Promise<number> => (await read(name)).status?.availableReplicas ?? 0;
  /** Makes the Deployment and waits for its pod. */
  const make = async (name: string): Promise<Pod> => {
    for (const object of guarded(name)) await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
    await waitFor('the pod runs', async () => (await available(name)) === 1, SLOW);
    const [pod] = await podsOf(name);
    assert.ok(pod);
    return pod;
  };
  const isScaledBack = async (name: string): Promise<boolean> => {
    const { metadata, spec } = await read(name);
    return spec.replicas === 1 && metadata.labels?.['nodemaintenance.x-k8s.io/surge'] === undefined;
  };
  const ask = (pod: Pod): Promise<string> => {
    const maintenance = drainOf(pod.metadata.labels?.['app'] ?? '', [pod.spec.nodeName ?? ''], { reason: 'test' });
    return controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(maintenance));
  };

  it('the only pod of a Deployment whose budget allows no eviction leaves when another one is available on the other node', async () => {
    await using surge = startSurge();
    const pod = await make('web');
    let least = Infinity;
    const done = new AbortController();
    const watching = (async () => {
      while (!done.signal.aborted) {
        least = Math.min(least, await available('web'));
        await delay(100);
      }
    })();
    await ask(pod);
    const drained = 'jsonpath={.status.conditions[?(@.type=="Drained")].status}';
    await waitFor('the node is drained', async () => (await kubectl('get', 'nm', 'web', '-o', drained)) === 'True', {
      ...SLOW,
      program: surge,
    });
    await waitFor('the Deployment is scaled back', () => isScaledBack('web'), { program: surge });
    done.abort();
    await watching;
    assert.equal(least, 1, 'the Deployment had no available pod');
    const isMoved = async (): Promise<boolean> => {
      const pods = await podsOf('web');
      const other = NODES.find((name) => name !== pod.spec.nodeName);
      return pods.length === 1 && pods[0]?.metadata.name !== pod.metadata.name && pods[0]?.spec.nodeName === other;
    };
    await waitFor('the other pod alone is left', isMoved, SLOW);
    await kubectl('delete', 'nm', 'web');
  });

  it('a request that is withdrawn while the other pod is awaited scales the Deployment back, also when the interceptor was killed in between', async () => {
    const pod = await make('api');
    const other = NODES.find((name) => name !== pod.spec.nodeName) ?? '';
    await kubectl('cordon', other);
    await using first = startSurge();
    await ask(pod);
    await waitFor('the Deployment has another pod', async () => (await read('api')).spec.replicas === 2, SLOW);
    first.kill('SIGKILL');
    await waitFor('the interceptor is dead', () => first.exited());
    await kubectl('delete', 'nm', 'api');
    await using again = startSurge();
    await waitFor('the Deployment is scaled back', () => isScaledBack('api'), { ...SLOW, program: again });
    const isAlone = async (): Promise<boolean> => (await podsOf('api')).length === 1;
    await waitFor('the other pod is gone', isAlone, SLOW);
    const [left] = await podsOf('api');
    assert.equal(left?.metadata.uid, pod.metadata.uid);
    assert.equal(left?.metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'], undefined);
    await kubectl('uncordon', other);
  });

  it('a Deployment of which no other pod becomes available in time is scaled back, and its pod is left to the Eviction API', async () => {
    const pod = await make('db');
    const other = NODES.find((name) => name !== pod.spec.nodeName) ?? '';
    await kubectl('cordon', other);
    await using surge = startSurge('--timeout', '5s');
    await ask(pod);
    const query = 'jsonpath={.items[?(@.spec.target.pod.name=="' + pod.metadata.name + '")].status.activeInterceptors}';
    const active = async (): Promise<boolean> => (await kubectl('get', 'evreq', '-o', query)).includes('imperative');
    await waitFor('the Eviction API has its turn', active, { ...SLOW, program: surge });
    await waitFor('the Deployment is scaled back', () => isScaledBack('db'), { ...SLOW, program: surge });
    assert.ok((await podsOf('db')).some(({ metadata }) => metadata.uid === pod.metadata.uid));
    await kubectl('delete', 'nm', 'db');
    await kubectl('uncordon', other);
  });

  const as = ['--as', ACCOUNT, ...GROUPS.flatMap((group) => ['--as-group', group])];
  const patchAs = (target: string, patch: object): Promise<string> =>
    kubectl('patch', target, '-p', JSON.stringify(patch), ...as);
  const recordOf = (replicas: number, ...uids: readonly string[]): string =>
    JSON.stringify({ replicas, pods: Object.fromEntries(uids.map((uid) => [uid, '2026-11-23T04:59:30Z'])) });
  /** The change of a Deployment with this record; null: without one. */
  const scaled = (replicas: number, record: string | null): object => ({
    metadata: { annotations: { [SURGE_ANNOTATION]: record } },
    spec: { replicas },
  });

  it('the account of the interceptor scales only Deployments that ask for it, only up by its record, and only back down', async () => {
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(deployment('plain')));
    const [asks] = guarded('asks');
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(asks));
    const refused = (patch: object, target = 'deployment/asks'): Promise<void> =>
      assert.rejects(patchAs(target, patch), /the interceptor of surges/, JSON.stringify(patch));
    await refused(scaled(0, null), 'deployment/plain');
    await refused(scaled(2, recordOf(1, 'a')), 'deployment/plain');
    await refused(scaled(0, null));
    await refused(scaled(2, null));
    await refused(scaled(9, recordOf(8, 'a')));
    await refused(scaled(3, recordOf(1, 'a')));
    await refused(scaled(3, recordOf(1, 'a', 'b')));
    await refused(scaled(1, 'all of them'));

    await patchAs('deployment/asks', scaled(2, recordOf(1, 'a')));
    await refused(scaled(2, null));
    await refused(scaled(0, null));
    await refused(scaled(3, recordOf(2, 'a')));
    await refused(scaled(3, recordOf(1, 'a', 'b')));
    await patchAs('deployment/asks', scaled(1, null));

    await patchAs('deployment/asks', scaled(2, recordOf(1, 'a')));
    await kubectl('scale', 'deployment/asks', '--replicas=5');
    await refused(scaled(1, null));
    await refused(scaled(2, recordOf(1, 'a')));
    await patchAs('deployment/asks', scaled(5, null));
    await kubectl('delete', 'deployment', 'plain', 'asks');
  });
});
