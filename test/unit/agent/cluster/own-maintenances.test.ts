import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterDependencies } from '../../../../src/agent/cluster/dependencies.ts';
import { OwnMaintenances } from '../../../../src/agent/cluster/own-maintenances.ts';
import {
  AGENT_LABEL,
  DEADLINE_ANNOTATION,
  DEADLINE_SINCE_ANNOTATION,
  SHUTDOWN_KIND_ANNOTATION,
} from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { agentNodeOf } from '../../../../src/decide/maintenance/maintenance.ts';
import type { Phase, Shutdown } from '../../../../src/decide/shutdown/phase.ts';
import { preciseRfc3339 } from '../../../../src/decide/time.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath } from '../../../../src/kube/resource.ts';
import { ownMaintenanceOf } from '../../../support/maintenance/objects.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';

const SIGNAL = new AbortController().signal;
const NODE = 'node-a';
const NAME = 'shutdown-node-a-1';
const COLLECTION = collectionPath(NODE_MAINTENANCES);
const WANTED = { maintenance: NAME, reason: 'x' } as const;

function ownOf(metadata: object = {}, spec: object = {}): NodeMaintenance {
  return ownMaintenanceOf(NODE, { name: NAME, uid: 'u-1', ...metadata }, spec);
}

/** The maintenances of an agent, the API server that it asks, and what the watch shows it. */
function rig(more: Partial<ClusterDependencies> = {}) {
  const server = createObjectServer();
  const copy = new Map<string, NodeMaintenance>();
  const clock = createSystemClock();
  const given = { client: server.client, clock, log: SILENT_LOG, nodeName: NODE, onChange: () => undefined };
  const watched = { get: (name: string) => copy.get(name), list: () => [...copy.values()] };
  const own = new OwnMaintenances({ ...given, ...more }, watched, undefined);
  const sees = (maintenance: NodeMaintenance | undefined): void => {
    if (maintenance === undefined) copy.delete(NAME);
    else copy.set(NAME, maintenance);
    own.changed(NAME);
  };
  /** The API server accepts the maintenance. */
  const make = async (): Promise<void> => {
    server.answers.set(`POST ${COLLECTION}`, { status: 201, body: ownOf() });
    await own.create(WANTED, [], SIGNAL);
  };
  return { own, server, sees, make };
}

/** An API server whose policies do not know the annotation for the kind of a shutdown. */
function older(client: KubeClient): KubeClient {
  return {
    ...client,
    send: async (request, signal) => {
      const { metadata } = request.body as NodeMaintenance;
      if (metadata.annotations?.[SHUTDOWN_KIND_ANNOTATION] === undefined) return client.send(request, signal);
      return { status: 422, headers: {}, body: { message: 'a policy does not know the annotation' } };
    },
  };
}

/** The annotations of each body that was sent. */
function annotationsSent({ requests }: ReturnType<typeof rig>['server']): readonly unknown[] {
  return requests.flatMap(({ body }) => (body === undefined ? [] : [(body as NodeMaintenance).metadata.annotations]));
}

describe('the creation of a maintenance', () => {
  it('the creation labels the maintenance of a node whose name is no label value, so that its agent knows it again', async () => {
    for (const nodeName of ['n1', `node-${'x'.repeat(100)}`, `${'n'.repeat(60)}.${'a.b-'.repeat(40)}internal`]) {
      const { own, server } = rig({ nodeName });
      await own.create({ ...WANTED, maintenance: `shutdown-${nodeName}-0` }, [], SIGNAL);
      const made = server.requests[0]?.body as NodeMaintenance;
      assert.ok((made.metadata.labels?.[AGENT_LABEL] ?? '').length <= 63);
      assert.equal(agentNodeOf(made), nodeName);
      assert.equal(made.metadata.annotations, undefined);
    }
  });

  it('the creation takes a name that exists already for no error: an earlier one may have had no answer', async () => {
    const { own, server } = rig();
    server.refused.set(`POST ${COLLECTION}`, 409);
    await own.create(WANTED, [], SIGNAL);
    assert.equal(own.state(NAME), 'absent');
    server.objects.set(objectPath(NODE_MAINTENANCES, { name: NAME }), ownOf());
    await own.create(WANTED, [], SIGNAL);
    assert.equal(own.state(NAME), 'open');
  });

  it('the creation asks for no other one where a copy shows it: a webhook may refuse that', async () => {
    const { own, server, sees } = rig();
    server.refused.set(`POST ${COLLECTION}`, 500);
    server.objects.set(objectPath(NODE_MAINTENANCES, { name: NAME }), ownOf());
    sees(ownOf());
    await own.create(WANTED, [], SIGNAL);
    assert.equal(own.state(NAME), 'open');
  });

  it('the creation takes the name of a maintenance of another client for taken, until that is gone', async () => {
    const { own, server, sees } = rig();
    server.refused.set(`POST ${COLLECTION}`, 409);
    server.objects.set(objectPath(NODE_MAINTENANCES, { name: NAME }), ownOf({ labels: {} }));
    await own.create(WANTED, [], SIGNAL);
    assert.deepEqual([own.state(NAME), own.isFree(NAME)], ['taken', false]);
    sees(undefined);
    assert.equal(own.isFree(NAME), true);
  });

  it('the creation leaves out how the machine goes down where the API server refuses that, for a drain does not need it', async () => {
    const server = createObjectServer();
    const { own } = rig({ client: older(server.client) });
    await own.create({ ...WANTED, shutdownKind: 'reboot' }, [], SIGNAL);
    assert.deepEqual(annotationsSent(server), [undefined]);
  });
});

const DEADLINE = { at: 2_000, since: 1_000 };

function phaseOf(more: Partial<Shutdown>): Phase {
  const shutdown = {
    maintenance: NAME,
    mode: 'cluster',
    origin: 'logind',
    reason: 'r',
    since: 1,
    bootId: 'b',
  } as const;
  return { kind: 'draining', ...shutdown, ...more };
}

describe('the deadline and the kind of a shutdown', () => {
  it('the deadline is written although the API server refuses the kind', async () => {
    const server = createObjectServer();
    server.answers.set(`POST ${COLLECTION}`, { status: 201, body: ownOf() });
    const { own, sees } = rig({ client: older(server.client) });
    await own.create(WANTED, [], SIGNAL);
    sees(ownOf());
    const kept = own.keepAnnotations(phaseOf({ deadline: DEADLINE, shutdownKind: 'reboot' }), SIGNAL);
    await assert.rejects(kept, { code: 'API_REFUSED' });
    assert.deepEqual(Object.keys(annotationsSent(server).at(-1) as object), [
      DEADLINE_ANNOTATION,
      DEADLINE_SINCE_ANNOTATION,
    ]);
  });

  it("the deadline is written by the API server's clock where this machine's is wrong, with the maintenance and later", async () => {
    const { own, server, sees, make } = rig({ aheadMs: () => 3_600_000 });
    await own.create({ ...WANTED, deadline: DEADLINE, shutdownKind: 'reboot' }, [], SIGNAL);
    const deadline = {
      [DEADLINE_ANNOTATION]: '1970-01-01T01:00:02Z',
      [DEADLINE_SINCE_ANNOTATION]: '1970-01-01T01:00:01Z',
    };
    assert.deepEqual(annotationsSent(server), [{ ...deadline, [SHUTDOWN_KIND_ANNOTATION]: 'reboot' }]);
    await make();
    sees(ownOf());
    await own.keepAnnotations(phaseOf({ deadline: DEADLINE }), SIGNAL);
    assert.deepEqual(annotationsSent(server).at(-1), deadline);
  });

  it('the deadline and the kind are written again only where they are others, and a maintenance that is gone is no error', async () => {
    const { own, server, sees, make } = rig({ aheadMs: () => -3_600_000 });
    await make();
    server.requests.length = 0;
    const phase = phaseOf({ deadline: { at: 3_610_000, since: 3_600_000 }, shutdownKind: 'reboot' });
    const has = (time: string, kind = 'reboot'): NodeMaintenance =>
      ownOf({ annotations: { [DEADLINE_ANNOTATION]: time, [SHUTDOWN_KIND_ANNOTATION]: kind } });
    // The API server tells its time in whole seconds.
    for (const time of ['1970-01-01T00:00:10.000Z', '1970-01-01T00:00:09.100Z', '1970-01-01T00:00:11.000Z']) {
      sees(has(time));
      await own.keepAnnotations(phase, SIGNAL);
    }
    assert.deepEqual(annotationsSent(server), []);
    server.refused.set(`PATCH ${objectPath(NODE_MAINTENANCES, { name: NAME })}`, 404);
    for (const other of [has('1970-01-01T00:00:20.000Z'), has('never'), has('1970-01-01T00:00:10.000Z', 'halt')]) {
      sees(other);
      await own.keepAnnotations(phase, SIGNAL);
    }
    const [deadline, , kind] = annotationsSent(server);
    assert.equal(server.requests.length, 3);
    assert.deepEqual(Object.keys(deadline as object), [DEADLINE_ANNOTATION, DEADLINE_SINCE_ANNOTATION]);
    assert.deepEqual(kind, { [SHUTDOWN_KIND_ANNOTATION]: 'reboot' });
  });

  it('the deadline of a trigger that is taken back is taken away from the maintenance, and no other one', async () => {
    const { own, server, sees, make } = rig();
    await make();
    sees(ownOf({ annotations: { [DEADLINE_ANNOTATION]: preciseRfc3339(200_000) } }));
    server.requests.length = 0;
    await own.keepAnnotations(phaseOf({}), SIGNAL);
    await own.keepAnnotations(phaseOf({ withdrawnDeadline: 100_000 }), SIGNAL);
    assert.deepEqual(annotationsSent(server), []);
    await own.keepAnnotations(phaseOf({ withdrawnDeadline: 200_000 }), SIGNAL);
    assert.deepEqual(annotationsSent(server), [{ [DEADLINE_ANNOTATION]: null, [DEADLINE_SINCE_ANNOTATION]: null }]);
  });
});

const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const COMPLETE = { stage: 'Complete' };

/** What the watch shows after the API server has accepted the maintenance, and what became of it then. */
const stories: [string, (NodeMaintenance | undefined)[], string][] = [
  ['nothing yet', [], 'open'],
  ['what had the name before', [ownOf({ uid: 'u-0', ...DELETED })], 'open'],
  ['the maintenance', [ownOf()], 'open'],
  ['its deletion', [ownOf(), undefined], 'deleted'],
  ['that it is being deleted', [ownOf(), ownOf(DELETED)], 'deleted'],
  ['that the controller completes it because of that', [ownOf(), ownOf(DELETED), ownOf(DELETED, COMPLETE)], 'deleted'],
  ['that somebody completes it', [ownOf(), ownOf({}, COMPLETE)], 'completed'],
  [
    'that somebody completes and deletes it',
    [ownOf(), ownOf({}, COMPLETE), ownOf(DELETED, COMPLETE), undefined],
    'completed',
  ],
  ['another object of the name', [ownOf(), ownOf({ uid: 'u-2' })], 'deleted'],
];

describe('a maintenance that was made', () => {
  for (const [what, events, expected] of stories) {
    it(`a maintenance that was made is ${expected} when the watch shows ${what}`, async () => {
      const { own, sees, make } = rig();
      await make();
      for (const event of events) sees(event);
      assert.equal(own.state(NAME), expected);
    });
  }

  it('a maintenance that was made is deleted when the watch shows nothing and the API server does not have it', async () => {
    const { own, server, make } = rig();
    await make();
    assert.equal(own.isFree(NAME), false);
    await own.confirm(NAME, SIGNAL);
    assert.equal(server.asked.at(-1), `GET ${objectPath(NODE_MAINTENANCES, { name: NAME })}`);
    assert.equal(own.state(NAME), 'deleted');
  });

  it('a maintenance that an earlier process of this boot made is its own, whatever has become of it', () => {
    const drained = { conditions: [{ type: 'Drained', status: 'True' }] } as never;
    for (const [found, state] of [
      [{ ...ownOf(), status: drained }, 'open'],
      [ownOf({}, { stage: 'Complete' }), 'completed'],
      [ownOf({ deletionTimestamp: '2026-01-01T00:00:00Z' }), 'deleted'],
      [ownOf({ labels: {} }), 'taken'],
    ] as const) {
      const { own, sees } = rig();
      own.resume(NAME);
      sees(found);
      assert.equal(own.state(NAME), state);
    }
  });
});

describe('a name', () => {
  it("a name is taken by a maintenance that is not the agent's or was completed while none ran, and free again without it", () => {
    const { own, sees } = rig();
    assert.deepEqual([own.state(NAME), own.isFree(NAME)], ['absent', true]);
    for (const found of [ownOf({ labels: {} }), ownOf({}, COMPLETE)]) {
      sees(found);
      assert.deepEqual([own.state(NAME), own.isFree(NAME)], ['taken', false]);
      sees(undefined);
      assert.deepEqual([own.state(NAME), own.isFree(NAME)], ['absent', true]);
    }
  });

  it('a name may be used again by the next shutdown', async () => {
    const { own, sees, make } = rig();
    await make();
    for (const shown of [ownOf(), ownOf({}, COMPLETE), undefined]) sees(shown);
    assert.deepEqual([own.state(NAME), own.isFree(NAME)], ['completed', true]);
    own.forget(NAME);
    assert.equal(own.state(NAME), 'absent');
  });
});
