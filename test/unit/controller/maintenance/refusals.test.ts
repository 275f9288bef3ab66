import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MIRROR_ANNOTATION, NODE_NOTE_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { Refusals } from '../../../../src/controller/maintenance/refusals.ts';
import { NodemaintError } from '../../../../src/errors.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';
import { changeMaintenance } from '../../../support/maintenance/change.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';
import { waitFor } from '../../../support/wait-for.ts';

const QUICK = { timeoutMs: 3_000 };
const SLOW = { timeoutMs: 10_000 };

function podOf(name: string, node: string, metadata: object = {}): Pod {
  return { metadata: { name, namespace: 'n', uid: `u-${name}`, ...metadata }, spec: { nodeName: node, priority: 0 } };
}

function statusOf(cluster: MemoryCluster, node: string): NonNullable<NodeMaintenance['status']>['nodeStatuses'] {
  const { status } = cluster.get('Maintenance', 'm') ?? {};
  return status?.nodeStatuses?.filter(({ nodeRef }) => nodeRef.name === node);
}

/** The API server lets nobody change the node `one`. */
function refuseNode(cluster: MemoryCluster): void {
  cluster.answer = ({ method, path }) =>
    method === 'PATCH' && path === '/api/v1/nodes/one' ? { status: 403, message: 'hands off node one' } : undefined;
}

describe('what is remembered of a step that failed', () => {
  it('a refusal is remembered until a step succeeds, and a call without an answer is none', async () => {
    const refusals = new Refusals(createSteppingClock(), () => undefined);
    const { signal } = new AbortController();
    const fail = async (code: 'API_UNREACHABLE' | 'API_REFUSED'): Promise<void> => {
      const step = refusals.during('a', signal, () => Promise.reject(new NodemaintError(code, code)));
      await assert.rejects(step, { code });
    };
    await fail('API_UNREACHABLE');
    assert.equal(refusals.of('a'), undefined);
    await fail('API_REFUSED');
    await fail('API_UNREACHABLE');
    assert.equal(refusals.of('a')?.message, 'API_REFUSED');
    await refusals.during('a', signal, () => Promise.resolve({}));
    assert.equal(refusals.of('a'), undefined);
  });
});

describe('an object that the API server refuses', () => {
  it('a refused EvictionRequest delays no other pod, and the status names its pod with the reason', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    for (let index = 0; index < 60; index += 1) cluster.put('Pod', podOf(`p-${index}`, 'one'));
    cluster.answer = ({ method, path }) =>
      method === 'PATCH' && path.endsWith('/evictionrequests/u-p-3')
        ? { status: 403, message: 'namespace n is being terminated' }
        : undefined;
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    const requested = (): number =>
      Array.from({ length: 60 }, (__, index) => cluster.get('Request', `n/u-p-${index}`)).filter(Boolean).length;
    await waitFor('the other requests', () => requested() === 59, QUICK);
    const blocking = (): string => JSON.stringify(statusOf(cluster, 'one')?.[0]?.podsBlocking ?? []);
    await waitFor('the reason', () => blocking().includes('namespace n is being terminated'), QUICK);
    assert.match(blocking(), /"name":"p-3","namespace":"n","reason":"EvictionRefused"/);
    assert.ok(!blocking().includes('p-4'));
    cluster.answer = () => undefined;
    await waitFor('the last request', () => requested() === 60, SLOW);
    await waitFor('nobody blocks', () => blocking() === '[]', QUICK);
  });

  it('a pod that is terminating already needs no EvictionRequest, and a static one does', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    const deletionTimestamp = new Date().toISOString();
    cluster.put('Pod', podOf('ending', 'one', { deletionTimestamp, finalizers: ['f'] }));
    cluster.put('Pod', podOf('running', 'one'));
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    await waitFor('the request', () => cluster.get('Request', 'n/u-running') !== undefined, QUICK);
    assert.equal(cluster.get('Request', 'n/u-ending'), undefined);
  });

  it('a node that cannot be cordoned delays no other node, and the status names it with the reason', async () => {
    const cluster = createMemoryCluster();
    for (const name of ['one', 'two']) {
      cluster.put('Node', { metadata: { name } });
      cluster.put('Pod', podOf(`p-${name}`, name));
    }
    refuseNode(cluster);
    cluster.put('Maintenance', drainOf('m', ['one', 'two']));
    await using _ = cluster.lead();
    const isCordoned = (name: string): boolean => cluster.get('Node', name)?.spec?.unschedulable === true;
    await waitFor('the cordon of the other', () => isCordoned('two'), QUICK);
    await waitFor('its request', () => cluster.get('Request', 'n/u-p-two') !== undefined, QUICK);
    const said = (): string => statusOf(cluster, 'one')?.[0]?.drainMessage ?? '';
    await waitFor('the reason', () => said().includes('hands off node one'), QUICK);
    await waitFor('the drain goes on there', () => cluster.get('Request', 'n/u-p-one') !== undefined, QUICK);
    assert.equal(isCordoned('one'), false);
    cluster.answer = () => undefined;
    await waitFor('the cordon', () => isCordoned('one'), SLOW);
    await waitFor('the message', () => !said().includes('hands off'), QUICK);
  });

  it('the agent of a node that cannot be cordoned learns by the note when static pods are targeted', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    cluster.put('Pod', podOf('web', 'one'));
    cluster.put('Pod', podOf('etcd-one', 'one', { annotations: { [MIRROR_ANNOTATION]: 'hash' } }));
    refuseNode(cluster);
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    const note = (): string => cluster.get('Node', 'one')?.metadata.annotations?.[NODE_NOTE_ANNOTATION] ?? '';
    await waitFor('the note of the maintenance', () => note().includes('"name":"m"'), QUICK);
    await waitFor('the request of the pod', () => cluster.get('Request', 'n/u-web') !== undefined, QUICK);
    assert.ok(!note().includes('Static'));
    cluster.remove('Pod', 'n/web');
    await waitFor('the note of the static targets', () => note().includes('"podType":"Static"'), QUICK);
  });

  it('a node that cannot be cordoned is named in the stage Cordon too, as long as it is so', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    refuseNode(cluster);
    cluster.put('Maintenance', drainOf('m', ['one'], { stage: 'Cordon' }));
    await using _ = cluster.lead();
    const said = (): string => statusOf(cluster, 'one')?.[0]?.drainMessage ?? '';
    await waitFor('the reason', () => /^the node cannot be changed: .*hands off node one/.test(said()), QUICK);
    cluster.answer = () => undefined;
    await waitFor('no message', () => said() === '', SLOW);
  });

  it('a node that cannot be uncordoned does not hold the completion, and an Event names it', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    await waitFor('the cordon', () => cluster.get('Node', 'one')?.spec?.unschedulable === true, QUICK);
    refuseNode(cluster);
    changeMaintenance(cluster, 'm', { stage: 'Complete' });
    const finalizers = (): readonly string[] => cluster.get('Maintenance', 'm')?.metadata.finalizers ?? [];
    await waitFor('the completion', () => finalizers().length === 0, QUICK);
    const event = cluster.events.find(({ reason }) => reason === 'GiveBackRefused');
    assert.match(event?.message ?? '', /^Node one is not given back: .*hands off node one/);
    cluster.answer = () => undefined;
    await waitFor('the end of the cordon', () => cluster.get('Node', 'one')?.spec?.unschedulable !== true, SLOW);
  });
});

describe('a maintenance in the stage Idle', () => {
  it('a maintenance in the stage Idle changes nothing in the cluster but the condition that it is planned', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    cluster.put('Pod', podOf('web', 'one'));
    cluster.put('Maintenance', drainOf('m', ['one'], { stage: 'Idle' }));
    await using _ = cluster.lead();
    const truths = (): string =>
      (cluster.get('Node', 'one')?.status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`).join(' ');
    await waitFor('the condition', () => truths() === 'MaintenancePlanned=True', QUICK);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const paths = cluster.requests.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(paths, ['PATCH /api/v1/nodes/one/status']);
    cluster.remove('Maintenance', 'm');
    await waitFor('its end', () => truths() === 'MaintenancePlanned=False', QUICK);
  });
});
