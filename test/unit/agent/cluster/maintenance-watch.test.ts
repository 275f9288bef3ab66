import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { NodeMaintenances } from '../../../../src/agent/cluster/maintenance-watch.ts';
import { ControllerLease } from '../../../../src/agent/drain/controller-lease.ts';
import { AGENT_LABEL, NODE_NOTE_ANNOTATION, NOTES_BY_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { DEFAULT_DRAIN_PLAN } from '../../../../src/decide/maintenance/drain-plan.ts';
import { nodeNote } from '../../../../src/decide/maintenance/node-note.ts';
import { type Clock, createSystemClock } from '../../../../src/host/clock.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';
import { CONTROLLER_LEASE } from '../../../../src/kube/lease.ts';
import { LEASES, NODE_MAINTENANCES, NODES, objectPath } from '../../../../src/kube/resource.ts';
import { drainOf, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { createObjectStore } from '../../../support/stand-ins/object-store.ts';
import { waitFor } from '../../../support/wait-for.ts';

const LEASE_PATH = objectPath(LEASES, CONTROLLER_LEASE);

function drainingOf(name: string, nodes: readonly string[]): NodeMaintenance {
  const nodeStatuses = nodes.map((each) => ({ nodeRef: { name: each }, drainTargets: DEFAULT_DRAIN_PLAN }));
  return { ...drainOf(name, nodes), status: { nodeStatuses } };
}

/** The agent of n1 in a cluster whose Lease the test sets; lists and watches have no selectors but that of the agent's label. */
function open(t: TestContext, holder: { notesBy?: string; isForbidden?: boolean }, clock = createSystemClock()) {
  const store = createObjectStore();
  const asked: string[] = [];
  let renewals = 0;
  let woken = 0;
  const ofLabel = (path: string, { metadata }: NodeMaintenance): boolean =>
    !path.includes('labelSelector') || metadata.labels?.[AGENT_LABEL] === 'n1';
  const client: KubeClient = {
    ...store.client,
    send: async (request, signal) => {
      if (request.path === LEASE_PATH) {
        if (holder.isForbidden === true) return { status: 403, headers: {}, body: { message: 'forbidden' } };
        renewals += 1;
        const annotations = holder.notesBy === undefined ? {} : { [NOTES_BY_ANNOTATION]: holder.notesBy };
        const spec = { holderIdentity: 'c1', renewTime: String(renewals), leaseDurationSeconds: 15 };
        return { status: 200, headers: {}, body: { metadata: { name: 'l', annotations }, spec } };
      }
      asked.push(decodeURIComponent(request.path));
      const answer = await store.client.send(request, signal);
      const { items = [], ...list } = answer.body as { items?: readonly NodeMaintenance[] };
      return { ...answer, body: { ...list, items: items.filter((each) => ofLabel(request.path, each)) } };
    },
    watch: async function* (path, signal) {
      for await (const event of store.client.watch(path, signal)) {
        if (ofLabel(path, (event as { object: NodeMaintenance }).object)) yield event;
      }
    },
  };
  const onChange = (): void => {
    woken += 1;
  };
  const dependencies = { client, clock, log: SILENT_LOG, nodeName: 'n1', onChange };
  const watch = new NodeMaintenances(dependencies, new ControllerLease(dependencies), () => undefined);
  const end = new AbortController();
  const running = watch.run(end.signal);
  t.after(async () => {
    end.abort();
    await running;
  });
  const note = (maintenances: readonly NodeMaintenance[]): void => {
    const text = nodeNote(maintenances, { name: 'n1' });
    store.put(NODES, {
      metadata: { name: 'n1', ...(text === undefined ? {} : { annotations: { [NODE_NOTE_ANNOTATION]: text } }) },
    });
  };
  const listsAll = (): boolean =>
    asked.some((path) => path.includes('nodemaintenances?') && !path.includes('labelSelector'));
  return { store, watch, note, listsAll, dependencies, wakes: () => woken };
}

const names = (list: readonly NodeMaintenance[]): readonly string[] => list.map(({ metadata }) => metadata.name);

describe('the maintenances of a node', () => {
  it('the maintenances of others come from the note on the Node, and the own ones from a watch by label', async (t) => {
    const { store, watch, note, listsAll, wakes } = open(t, { notesBy: 'c1' });
    store.put(NODE_MAINTENANCES, ownMaintenanceOf('n1', { name: 'own' }));
    store.put(NODE_MAINTENANCES, drainingOf('elsewhere', ['n2']));
    await waitFor('the own one is known', async () => watch.get('own') !== undefined);
    assert.deepEqual([watch.watchesAll(), names(watch.list())], [false, ['own']]);
    note([drainingOf('firmware', ['n1', 'n2'])]);
    await waitFor('the drain is known', async () => watch.drains().length === 1);
    const woken = wakes();
    store.put(NODE_MAINTENANCES, drainingOf('elsewhere', ['n2', 'n3']));
    note([drainingOf('firmware', ['n1', 'n2', 'n3'])]);
    note([]);
    await waitFor('the drain is over', async () => watch.drains().length === 0);
    assert.equal(wakes() - woken, 1, 'it wakes for the end of the drain alone');
    assert.equal(listsAll(), false);
  });

  it('the maintenances are all watched where the controller is older, and a note that was left counts for nothing', async (t) => {
    const { store, watch, note } = open(t, { notesBy: 'c0' });
    note([drainingOf('over', ['n1'])]);
    store.put(NODE_MAINTENANCES, drainingOf('firmware', ['n1', 'n2']));
    await waitFor('the drain is known', async () => watch.drains().length === 1);
    assert.deepEqual([watch.watchesAll(), names(watch.list())], [true, ['firmware']]);
  });

  it('the maintenances are all watched where the Lease may not be read', async (t) => {
    const { store, watch, note } = open(t, { notesBy: 'c1', isForbidden: true });
    note([]);
    store.put(NODE_MAINTENANCES, drainingOf('firmware', ['n1', 'n2']));
    await waitFor('the drain is known', async () => watch.drains().length === 1);
    assert.equal(watch.watchesAll(), true);
  });

  it('the maintenances are all watched on demand, without a gap', async (t) => {
    const { store, watch, note } = open(t, { notesBy: 'c1' });
    const drain = drainingOf('firmware', ['n1', 'n2']);
    store.put(NODE_MAINTENANCES, drain);
    note([drain]);
    await waitFor('the drain is known', async () => watch.drains().length === 1);
    watch.wantAll();
    await waitFor('all are watched', async () => {
      assert.equal(watch.drains().length, 1, 'it is known all the time');
      return watch.watchesAll();
    });
    assert.equal(watch.get('firmware')?.spec.drainPlan, drain.spec.drainPlan);
  });

  it('the maintenances of the note are enough again when a controller is back, also while a machine elsewhere goes down', async (t) => {
    const system = createSystemClock();
    const clock: Clock = {
      ...system,
      monotonic: () => system.monotonic() * 100,
      sleep: (ms, signal) => system.sleep(ms / 100, signal),
    };
    const { store, watch, note } = open(t, { notesBy: 'c1' }, clock);
    store.put(NODE_MAINTENANCES, ownMaintenanceOf('n2', {}));
    note([]);
    watch.wantAll();
    await waitFor('all are watched', () => watch.watchesAll());
    await waitFor('the note is enough', () => !watch.watchesAll());
  });

  it('the maintenances are all watched where the note cannot say what they are', async (t) => {
    const { store, watch, note } = open(t, { notesBy: 'c1' });
    note([]);
    await waitFor('the note is known', async () => watch.synced());
    const many = Array.from({ length: 300 }, (_, at) => drainingOf(`m${at}`, ['n1', 'n2']));
    for (const each of many) store.put(NODE_MAINTENANCES, each);
    note(many);
    await waitFor('all are known', async () => watch.drains().length === 300);
    assert.equal(watch.watchesAll(), true);
  });

  it('the maintenances of the note give way to those that the agent made', async (t) => {
    const { store, watch, note } = open(t, { notesBy: 'c1' });
    store.put(NODE_MAINTENANCES, ownMaintenanceOf('n1', { name: 'm' }));
    note([drainingOf('m', ['n1', 'n2'])]);
    await waitFor('both are known', async () => watch.synced());
    assert.deepEqual([watch.watchesAll(), watch.list().length], [false, 1]);
    assert.notEqual(watch.get('m')?.metadata.labels, undefined);
  });
});
