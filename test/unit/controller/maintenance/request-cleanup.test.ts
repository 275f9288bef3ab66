import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CANCELED, type EvictionRequest } from '../../../../src/api/eviction-request.ts';
import {
  CORDONED_ANNOTATION,
  DEADLINE_ANNOTATION,
  INTERCEPTOR_DEADLINE_ANNOTATION,
  MAINTENANCE_REQUESTER,
  MAINTENANCE_UID_LABEL,
  NODE_LABEL,
} from '../../../../src/api/names.ts';
import type { Node, Pod } from '../../../../src/api/pod.ts';
import { changeMaintenance } from '../../../support/maintenance/change.ts';
import { drainOf, maintenanceOf } from '../../../support/maintenance/objects.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';
import { waitFor } from '../../../support/wait-for.ts';

const QUICK = { timeoutMs: 4_000 };
const OTHER = 'descheduler.sigs.k8s.io';

function podOf(name: string, node: string): Pod {
  return { metadata: { name, namespace: 'n', uid: `u-${name}` }, spec: { nodeName: node, priority: 0 } };
}

/** A request of the pod, with these requesters; it names the node one, and where drains have asked the first of them. */
function requestOf(pod: string, requesters: readonly string[], metadata: object = {}): EvictionRequest {
  const asked = requesters.includes(MAINTENANCE_REQUESTER) ? { [MAINTENANCE_UID_LABEL]: 'u-gone' } : {};
  return {
    metadata: { name: `u-${pod}`, namespace: 'n', labels: { [NODE_LABEL]: 'one', ...asked }, ...metadata },
    spec: { target: { pod: { name: pod, uid: `u-${pod}` } }, requesters: requesters.map((name) => ({ name })) },
  };
}

function requestersOf(cluster: MemoryCluster, pod: string): readonly string[] | undefined {
  const request = cluster.get('Request', `n/u-${pod}`);
  return request?.spec.requesters?.map(({ name }) => name);
}

function isAsked(cluster: MemoryCluster, pod: string): boolean {
  return requestersOf(cluster, pod)?.includes(MAINTENANCE_REQUESTER) === true;
}

function nodeIn(cluster: MemoryCluster, name: string): Node | undefined {
  return cluster.get('Node', name);
}

/** A cluster with the node one, whose only pod is `web`. */
function clusterOfOne(): MemoryCluster {
  const cluster = createMemoryCluster();
  cluster.put('Node', { metadata: { name: 'one', labels: { rack: 'a' } } });
  cluster.put('Pod', podOf('web', 'one'));
  return cluster;
}

const BY_RACK = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'rack', operator: 'In', values: ['a'] }] }] };

describe('what a drain leaves behind', () => {
  it('a canceled drain withdraws its requests although another maintenance keeps the node cordoned', async () => {
    const cluster = clusterOfOne();
    cluster.put('Maintenance', { ...drainOf('only-cordon', ['one'], { stage: 'Cordon' }) });
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    await waitFor('the request', () => isAsked(cluster, 'web'), QUICK);
    changeMaintenance(cluster, 'm', { stage: 'Complete' });
    await waitFor('the withdrawal', () => cluster.get('Request', 'n/u-web') === undefined, QUICK);
    const finalizers = (): readonly string[] => cluster.get('Maintenance', 'm')?.metadata.finalizers ?? [];
    await waitFor('the completion', () => finalizers().length === 0, QUICK);
    assert.equal(nodeIn(cluster, 'one')?.spec?.unschedulable, true);
  });

  it('a node that leaves the selector gets its cordon, its conditions and the requests of its pods taken back', async () => {
    const cluster = clusterOfOne();
    cluster.put('Node', { metadata: { name: 'two', labels: { rack: 'a' } } });
    cluster.put('Pod', podOf('db', 'two'));
    cluster.put('Maintenance', maintenanceOf({ stage: 'Drain', nodeSelector: BY_RACK }, { name: 'm' }));
    await using _ = cluster.lead();
    await waitFor('the requests', () => isAsked(cluster, 'web') && isAsked(cluster, 'db'), QUICK);
    const conditionOf = (type: string): string | undefined =>
      nodeIn(cluster, 'one')?.status?.conditions?.find((each) => each.type === type)?.status;
    await waitFor('the condition', () => conditionOf('DrainInProgress') === 'True', QUICK);
    const node = nodeIn(cluster, 'one') ?? assert.fail();
    cluster.put('Node', { ...node, metadata: { ...node.metadata, labels: {} } });
    await waitFor('the cordon', () => nodeIn(cluster, 'one')?.spec?.unschedulable !== true, QUICK);
    assert.equal(nodeIn(cluster, 'one')?.metadata.annotations?.[CORDONED_ANNOTATION], undefined);
    await waitFor('the condition', () => conditionOf('MaintenanceInProgress') === 'False', QUICK);
    assert.equal(conditionOf('DrainInProgress'), 'False');
    await waitFor('the request', () => cluster.get('Request', 'n/u-web') === undefined, QUICK);
    assert.ok(isAsked(cluster, 'db'));
    assert.equal(nodeIn(cluster, 'two')?.spec?.unschedulable, true);
  });

  it('a new term gives back what no maintenance of the cluster accounts for, and nothing of others', async () => {
    const cluster = clusterOfOne();
    const message = 'under maintenance by gone';
    const conditions = [{ type: 'MaintenanceInProgress', status: 'True', reason: 'NodeMaintenance', message } as const];
    const ours = { name: 'one', annotations: { [CORDONED_ANNOTATION]: 'gone' } };
    cluster.put('Node', { metadata: ours, spec: { unschedulable: true }, status: { conditions } } as Node);
    cluster.put('Node', { metadata: { name: 'theirs' }, spec: { unschedulable: true } } as Node);
    for (const name of ['db', 'cache']) cluster.put('Pod', podOf(name, 'one'));
    cluster.put('Request', requestOf('web', [MAINTENANCE_REQUESTER]));
    const deadlines = { [DEADLINE_ANNOTATION]: 'x', [INTERCEPTOR_DEADLINE_ANNOTATION]: 'x' };
    cluster.put('Request', requestOf('db', [OTHER, MAINTENANCE_REQUESTER], { annotations: deadlines }));
    cluster.put('Request', requestOf('cache', [OTHER]));
    await using _ = cluster.lead();
    await waitFor('the cordon', () => nodeIn(cluster, 'one')?.spec?.unschedulable !== true, QUICK);
    await waitFor('the condition', () => nodeIn(cluster, 'one')?.status?.conditions?.[0]?.status === 'False', QUICK);
    await waitFor('the request', () => cluster.get('Request', 'n/u-web') === undefined, QUICK);
    await waitFor('the entry', () => !isAsked(cluster, 'db'), QUICK);
    assert.deepEqual(requestersOf(cluster, 'db'), [OTHER]);
    const { annotations = {} } = cluster.get('Request', 'n/u-db')?.metadata ?? {};
    const found = [annotations[DEADLINE_ANNOTATION], annotations[INTERCEPTOR_DEADLINE_ANNOTATION]];
    assert.deepEqual(found, [undefined, undefined]);
    assert.deepEqual(requestersOf(cluster, 'cache'), [OTHER]);
    assert.equal(nodeIn(cluster, 'theirs')?.spec?.unschedulable, true);
  });

  it('a canceled request that a drain made goes, where a former leader withdrew from it and did not see it canceled', async () => {
    const cluster = clusterOfOne();
    cluster.put('Pod', podOf('db', 'one'));
    const condition = { type: CANCELED, status: 'True' as const, reason: 'Canceled', message: '' };
    const canceled = { status: { conditions: [{ ...condition, lastTransitionTime: new Date().toISOString() }] } };
    const labels = { [NODE_LABEL]: 'one', [MAINTENANCE_UID_LABEL]: 'u-gone' };
    cluster.put('Request', { ...requestOf('web', [], { labels }), ...canceled });
    cluster.put('Request', { ...requestOf('db', []), ...canceled });
    await using _ = cluster.lead();
    await waitFor('the request', () => cluster.get('Request', 'n/u-web') === undefined, QUICK);
    assert.ok(cluster.get('Request', 'n/u-db') !== undefined, 'one that no drain made stays for its time');
  });

  it('a maintenance whose finalizer somebody removes by hand gives back when it is gone', async () => {
    const cluster = clusterOfOne();
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    await waitFor('the request', () => isAsked(cluster, 'web'), QUICK);
    cluster.remove('Maintenance', 'm');
    await waitFor('the cordon', () => nodeIn(cluster, 'one')?.spec?.unschedulable !== true, QUICK);
    await waitFor('the request', () => cluster.get('Request', 'n/u-web') === undefined, QUICK);
  });

  it('the completion deletes no request that took the place of the one that it judged', async () => {
    const cluster = clusterOfOne();
    cluster.put('Request', requestOf('web', [MAINTENANCE_REQUESTER]));
    cluster.answer = ({ method, path }) => {
      if (method !== 'DELETE' || !path.includes('/evictionrequests/')) return undefined;
      // Right before the request reaches the server, somebody asks for the eviction anew.
      cluster.answer = () => undefined;
      cluster.remove('Request', 'n/u-web');
      cluster.put('Request', requestOf('web', [OTHER], { uid: 'another' }));
      return undefined;
    };
    await using _ = cluster.lead();
    await waitFor('the other request', () => requestersOf(cluster, 'web')?.includes(OTHER) === true, QUICK);
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.deepEqual(requestersOf(cluster, 'web'), [OTHER]);
    const conditions = cluster.get('Request', 'n/u-web')?.status?.conditions ?? [];
    assert.ok(!conditions.some(({ type }) => type === CANCELED));
  });
});

describe('a deadline that is gone', () => {
  it('the annotations of a deadline leave the requests when it is called off', async () => {
    const cluster = clusterOfOne();
    const at = new Date(Date.now() + 3_600_000).toISOString();
    cluster.put('Maintenance', drainOf('m', ['one']));
    const deadline = { annotations: { [DEADLINE_ANNOTATION]: at, 'nodemaintenance.x-k8s.io/deadline-since': at } };
    cluster.put('Maintenance', { ...drainOf('spot', ['one']), metadata: { name: 'spot', ...deadline } });
    await using _ = cluster.lead();
    const annotations = (): Readonly<Record<string, string>> =>
      cluster.get('Request', 'n/u-web')?.metadata.annotations ?? {};
    await waitFor('the deadline', () => annotations()[DEADLINE_ANNOTATION] !== undefined, QUICK);
    changeMaintenance(cluster, 'spot', { stage: 'Complete' });
    await waitFor('no deadline', () => annotations()[DEADLINE_ANNOTATION] === undefined, QUICK);
    assert.equal(annotations()[INTERCEPTOR_DEADLINE_ANNOTATION], undefined);
    assert.ok(isAsked(cluster, 'web'));
  });
});

describe('a deadline that comes in mid-drain', () => {
  it('a deadline that comes in mid-drain shortens the end of a pod that was terminating before the drain', async () => {
    const cluster = clusterOfOne();
    const deletion = {
      deletionTimestamp: new Date(Date.now() + 3_600_000).toISOString(),
      deletionGracePeriodSeconds: 3_600,
      finalizers: ['example.com/hold'],
    };
    const web = podOf('web', 'one');
    const spec = { ...web.spec, terminationGracePeriodSeconds: 3_600 };
    cluster.put('Pod', { ...web, metadata: { ...web.metadata, ...deletion }, spec } as Pod);
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    const targets = (): unknown => cluster.get('Maintenance', 'm')?.status?.nodeStatuses?.[0]?.drainTargets;
    await waitFor('the targets', () => targets() !== undefined && nodeIn(cluster, 'one')?.spec?.unschedulable === true);
    const deletes = (): readonly string[] =>
      cluster.requests.filter(({ method }) => method === 'DELETE').map(({ body }) => JSON.stringify(body));
    assert.deepEqual(deletes(), []);
    const at = new Date(Date.now() + 120_000).toISOString();
    const since = { 'nodemaintenance.x-k8s.io/deadline-since': new Date().toISOString() };
    changeMaintenance(cluster, 'm', {}, { annotations: { [DEADLINE_ANNOTATION]: at, ...since } });
    await waitFor('the shorter end', () => deletes().length > 0, QUICK);
    assert.match(deletes()[0] ?? '', /"gracePeriodSeconds":\d{1,3}[,}]/);
    assert.equal(cluster.get('Request', 'n/u-web'), undefined);
  });
});
