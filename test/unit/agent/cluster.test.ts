import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Cluster } from '../../../src/agent/cluster.ts';
import { createNodePods } from '../../../src/agent/cluster/on-demand-watch.ts';
import { AGENT_LABEL, BOOT_ANNOTATION, DEADLINE_ANNOTATION, NODE_LABEL } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { EVICTION_REQUESTS, NODE_MAINTENANCES, PODS } from '../../../src/kube/resource.ts';
import { drainOf, maintenanceOf, ownMaintenanceOf } from '../../support/maintenance/objects.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { createObjectServer } from '../../support/stand-ins/object-server.ts';
import { createObjectStore } from '../../support/stand-ins/object-store.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';
import { waitFor } from '../../support/wait-for.ts';

const SIGNAL = new AbortController().signal;
const NAME = 'shutdown-n1-1';
const PATH = `/apis/${maintenanceOf().apiVersion}/nodemaintenances`;
const ACCESS = { server: new URL('https://api.example:6443'), authenticate: () => Promise.resolve() };
const WISH = { maintenance: NAME, reason: 'reboot' } as const;

function dependenciesOf(client: KubeClient, clock = createSystemClock()) {
  return { client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined };
}

function openCluster(machine: ReturnType<typeof dependenciesOf>, endsWithBoot: string | undefined): Cluster {
  const presence = { readDoctor: () => Promise.resolve({ doctor: 'ok' as const, checks: [] }), config: '' };
  return new Cluster({ access: ACCESS, endsWithBoot, presence, living: SIGNAL }, machine);
}

/** A cluster whose watches run until the test is over. */
function run(t: TestContext, store = createObjectStore()) {
  const end = new AbortController();
  const cluster = openCluster(dependenciesOf(store.client), undefined);
  const running = cluster.maintenances.run(end.signal);
  t.after(async () => {
    end.abort();
    await running;
  });
  return { store, cluster, end };
}

describe('the cluster of an agent', () => {
  it('the cluster shows the drains of the node, and which of them its agent made', async (t) => {
    const { store, cluster } = run(t);
    assert.equal(cluster.maintenances.synced(), false);
    store.put(NODE_MAINTENANCES, drainOf('of-person', ['n1']));
    store.put(NODE_MAINTENANCES, ownMaintenanceOf('n1', { name: 'shutdown-n1-0' }));
    store.put(NODE_MAINTENANCES, ownMaintenanceOf('n2'));
    await waitFor('all are shown', async () => cluster.maintenances.list().length === 3);
    const names = (list: readonly { metadata: { name: string } }[]) => list.map(({ metadata }) => metadata.name);
    assert.deepEqual(names(cluster.own.own()), ['shutdown-n1-0']);
    assert.equal(cluster.own.isFree('shutdown-n2-x'), false);
  });

  it('the cluster watches the EvictionRequests that are not over only while they are wanted', async (t) => {
    const store = createObjectStore();
    const request = {
      metadata: { name: 'r', namespace: 'default', labels: { [NODE_LABEL]: 'n1' } },
      spec: { target: { pod: { name: 'p', uid: 'u' } } },
    };
    const conditions = [{ type: 'Canceled', status: 'True' }];
    const over = { ...request, metadata: { ...request.metadata, name: 'over' }, status: { conditions } };
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const held = { ...over, metadata: { ...over.metadata, name: 'held', deletionTimestamp, finalizers: ['x/x'] } };
    for (const each of [request, over, held]) store.put(EVICTION_REQUESTS, each);
    const { cluster } = run(t, store);
    cluster.requests.watch(true);
    await waitFor('they are known', async () => cluster.requests.synced());
    const names = cluster.requests.list().map(({ metadata }) => metadata.name);
    assert.deepEqual(names.sort(), ['held', 'r']);
    cluster.requests.watch(false);
    assert.deepEqual([cluster.requests.list(), cluster.requests.synced()], [[], false]);
  });

  it("the watch on the node's pods ends when it rests, and begins again", async (t) => {
    const store = createObjectStore();
    const end = new AbortController();
    t.after(() => {
      end.abort();
    });
    const pod: Pod = { metadata: { name: 'p', namespace: 'default' }, spec: { nodeName: 'n1' } };
    store.put(PODS, pod);
    const pods = createNodePods(dependenciesOf(store.client), end.signal);
    const first = pods.start();
    await waitFor('the pod is known', async () => first.list().length === 1);
    assert.equal(pods.start(), first);
    pods.stop();
    assert.notEqual(pods.start(), first);
  });
});

describe("this node's maintenances", () => {
  it('a drain is created with the label of its agent, and with the boot where the API server has that boot', async () => {
    for (const [bootID, patches] of [
      ['boot-1', 1],
      ['boot-0', 0],
    ] as const) {
      const server = createObjectServer({
        '/api/v1/nodes/n1': { metadata: { name: 'n1' }, status: { nodeInfo: { bootID } } },
      });
      const { own } = openCluster(dependenciesOf(server.client), 'boot-1');
      await own.create(WISH, [], SIGNAL);
      assert.deepEqual(server.asked.slice(0, 2), [`POST ${PATH}`, 'GET /api/v1/nodes/n1']);
      assert.match(JSON.stringify(server.requests[0]?.body), new RegExp(`"${AGENT_LABEL}":"n1"`));
      const notes = server.requests.slice(2).map(({ body }) => body);
      const note = { metadata: { annotations: { [BOOT_ANNOTATION]: 'boot-1' } } };
      assert.deepEqual(notes, patches === 1 ? [note] : []);
      assert.equal(own.state(NAME), 'open');
    }
  });

  it("a name is taken where another client's maintenance has it", async () => {
    const server = createObjectServer({ [`${PATH}/${NAME}`]: drainOf(NAME, ['n2']) });
    server.refused.set(`POST ${PATH}`, 409);
    const { own } = openCluster(dependenciesOf(server.client), 'boot-1');
    await own.create(WISH, [], SIGNAL);
    assert.deepEqual([own.state(NAME), server.asked.length], ['taken', 2]);
  });

  it('a drain that the watch does not show is asked for every ten seconds at most, and deleted where it is gone', async () => {
    const server = createObjectServer();
    const clock = createSteppingClock();
    const { own } = openCluster(dependenciesOf(server.client, clock), undefined);
    server.client.send = (
      (send) =>
      async (...args: Parameters<typeof send>) => {
        const [request] = args;
        const answer = await send(...args);
        const body = answer.body as { metadata?: object };
        return request.method === 'POST'
          ? { ...answer, body: { ...body, metadata: { ...body.metadata, uid: 'u-1' } } }
          : answer;
      }
    )(server.client.send);
    await own.create(WISH, [], SIGNAL);
    server.objects.set(`${PATH}/${NAME}`, { metadata: { name: NAME, uid: 'u-1' }, spec: {} });
    for (const passMs of [0, 9_999, 1]) {
      clock.pass(passMs);
      await own.confirm(NAME, SIGNAL);
      assert.equal(own.state(NAME), 'open');
    }
    assert.equal(server.asked.length, 3);
    server.objects.clear();
    clock.pass(10_000);
    await own.confirm(NAME, SIGNAL);
    assert.equal(own.state(NAME), 'deleted');
  });

  it('a completion sends nothing where the maintenance is complete', async () => {
    const server = createObjectServer();
    const { own } = openCluster(dependenciesOf(server.client), undefined);
    await own.complete(maintenanceOf({ stage: 'Complete' }, { name: NAME }), SIGNAL);
    assert.deepEqual(server.asked, []);
    await own.complete(maintenanceOf({ stage: 'Drain' }, { name: NAME }), SIGNAL);
    assert.deepEqual(server.requests[0]?.body, { spec: { stage: 'Complete' } });
  });

  it("the deadline of a drain is written by the API server's clock once that is known", async () => {
    const server = createObjectServer();
    const clock = createSteppingClock();
    const now = clock.now();
    const { client, own } = openCluster(dependenciesOf(server.client, clock), undefined);
    const deadline = { at: now + 60_000, since: now };
    const draft = { maintenance: 'shutdown-node-a-0', reason: 'spot', deadline } as const;
    const ask = { method: 'GET', path: '/api/v1/nodes/node-a' } as const;
    const headers = { date: new Date(now + 3_600_000).toUTCString() };
    server.client.send = (request) => {
      server.requests.push(request);
      return Promise.resolve({ status: 200, headers, body: request.body ?? {} });
    };
    await client.send(ask, SIGNAL);
    await own.create(draft, [], SIGNAL);
    const made = server.requests.at(-1)?.body as NodeMaintenance | undefined;
    const written = Date.parse(made?.metadata.annotations?.[DEADLINE_ANNOTATION] ?? '');
    assert.ok(Math.abs(written - (deadline.at + 3_600_000)) <= 500, new Date(written).toISOString());
  });
});
