import type { ClusterDependencies } from '../../../../src/agent/cluster/dependencies.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CreatedMaintenances,
  maintenanceBody,
  OwnMaintenances,
} from '../../../../src/agent/cluster/own-maintenances.ts';
import {
  AGENT_LABEL,
  DEADLINE_ANNOTATION,
  DEADLINE_SINCE_ANNOTATION,
  SHUTDOWN_KIND_ANNOTATION,
} from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { deadlineOf } from '../../../../src/decide/deadline/maintenance.ts';
import type { OwnState } from '../../../../src/decide/maintenance/agent-names.ts';
import { agentNodeOf } from '../../../../src/decide/maintenance/maintenance.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';
import { collectionPath, NODE_MAINTENANCES } from '../../../../src/kube/resource.ts';
import { maintenanceOf, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';

const SIGNAL = new AbortController().signal;

/** What writes the maintenances of a node of which no watch knows anything. */
function writerOf(client: KubeClient, own: Partial<ClusterDependencies> = {}): OwnMaintenances {
  const clock = createSystemClock();
  const dependencies = { client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined, ...own };
  return new OwnMaintenances(dependencies, { get: () => undefined, list: () => [] }, undefined);
}

describe("the writer of this node's maintenances", () => {
  it('the writer labels the maintenance of a node whose name is no label value, so that its agent knows it again', async () => {
    const nodeName = `${'n'.repeat(60)}.${'a.b-'.repeat(40)}internal`;
    const server = createObjectServer();
    const writer = writerOf(server.client, { nodeName });
    const wanted = { name: `shutdown-${nodeName}-0`, reason: 'x', stage: 'Drain', drainPlan: [] } as const;
    const made = await writer.post(wanted, SIGNAL);
    assert.ok(made !== undefined && (made.metadata.labels?.[AGENT_LABEL] ?? '').length <= 63);
    assert.equal(agentNodeOf(made), nodeName);
  });

  it('the writer takes a maintenance whose name exists already for no error: its creation may have had no answer', async () => {
    const server = createObjectServer();
    server.refused.set(`POST ${collectionPath(NODE_MAINTENANCES)}`, 409);
    const writer = writerOf(server.client);
    const wanted = { name: 'm', reason: 'x', stage: 'Drain', drainPlan: [] } as const;
    assert.equal(await writer.post(wanted, SIGNAL), undefined);
    assert.equal(server.asked.length, 1);
  });

  it('the writer puts the deadline into annotations, and takes a maintenance that is gone for no error', async () => {
    const server = createObjectServer();
    const writer = writerOf(server.client);
    const maintenance = maintenanceOf({}, { name: 'm' });
    await writer.setDeadline(maintenance, { at: 2_000, since: 1_000 }, SIGNAL);
    const body = server.requests[0]?.body as { metadata: { annotations: Record<string, string> } };
    const { annotations } = body.metadata;
    assert.match(annotations[DEADLINE_ANNOTATION] ?? '', /^1970-01-01T00:00:02/);
    assert.match(annotations[DEADLINE_SINCE_ANNOTATION] ?? '', /^1970-01-01T00:00:01/);
    const [patch = ''] = server.asked;
    server.refused.set(patch, 404).set(patch.replace('PATCH', 'DELETE'), 404);
    await writer.setDeadline(maintenance, { at: 2_000, since: 1_000 }, SIGNAL);
    await writer.remove(maintenance, SIGNAL);
    assert.equal(await writer.read('m', SIGNAL), undefined);
  });

  it('the writer writes how the machine goes down, and again only where it is another way', async () => {
    const server = createObjectServer();
    const writer = writerOf(server.client);
    const wanted = { name: 'm', reason: 'x', stage: 'Drain', drainPlan: [], shutdownKind: 'reboot' } as const;
    const made = await writer.post(wanted, SIGNAL);
    assert.deepEqual(made?.metadata.annotations, { [SHUTDOWN_KIND_ANNOTATION]: 'reboot' });
    const asked = server.asked.length;
    await writer.setShutdownKind(made, 'reboot', SIGNAL);
    assert.equal(server.asked.length, asked);
    await writer.setShutdownKind(made, 'poweroff', SIGNAL);
    const body = server.requests.at(-1)?.body as { metadata: { annotations: Record<string, string> } };
    assert.deepEqual(body.metadata.annotations, { [SHUTDOWN_KIND_ANNOTATION]: 'poweroff' });
  });

  it('the writer leaves out how the machine goes down where the API server refuses that, for a drain does not need it', async () => {
    const server = createObjectServer();
    const older: KubeClient = {
      ...server.client,
      send: async (request, signal) => {
        const { metadata } = request.body as NodeMaintenance;
        if (metadata.annotations?.[SHUTDOWN_KIND_ANNOTATION] === undefined) return server.client.send(request, signal);
        return { status: 422, headers: {}, body: { message: 'a policy does not know the annotation' } };
      },
    };
    const writer = writerOf(older);
    const wanted = { name: 'm', reason: 'x', stage: 'Drain', drainPlan: [], shutdownKind: 'reboot' } as const;
    const made = await writer.post(wanted, SIGNAL);
    assert.equal(made?.metadata.name, 'm');
    assert.equal(made.metadata.annotations, undefined);
  });

  it("the writer writes the deadline by the API server's clock where this machine's is wrong", async () => {
    const server = createObjectServer();
    const aheadMs = (): number => 3_600_000;
    const writer = writerOf(server.client, { aheadMs });
    const deadline = { at: 2_000, since: 1_000 };
    const wanted = { name: 'm', reason: 'x', stage: 'Drain', drainPlan: [], deadline } as const;
    const made = await writer.post(wanted, SIGNAL);
    const expected = {
      [DEADLINE_ANNOTATION]: '1970-01-01T01:00:02Z',
      [DEADLINE_SINCE_ANNOTATION]: '1970-01-01T01:00:01Z',
    };
    assert.deepEqual(made?.metadata.annotations, expected);
    await writer.setDeadline(maintenanceOf({}, { name: 'm' }), deadline, SIGNAL);
    const body = server.requests.at(-1)?.body as { metadata: { annotations: Record<string, string> } };
    assert.deepEqual(body.metadata.annotations, expected);
  });

  it('the writer writes a deadline again only where it is another one', async () => {
    const server = createObjectServer();
    const aheadMs = (): number => -3_600_000;
    const writer = writerOf(server.client, { aheadMs });
    const has = (time: string): NodeMaintenance =>
      maintenanceOf({}, { name: 'm', annotations: { [DEADLINE_ANNOTATION]: time } });
    // The API server tells its time in whole seconds.
    for (const time of ['1970-01-01T00:00:10.000Z', '1970-01-01T00:00:09.100Z', '1970-01-01T00:00:11.000Z']) {
      await writer.setDeadline(has(time), { at: 3_610_000, since: 3_600_000 }, SIGNAL);
    }
    assert.deepEqual(server.asked, []);
    await writer.setDeadline(has('1970-01-01T00:00:20.000Z'), { at: 3_610_000, since: 3_600_000 }, SIGNAL);
    await writer.setDeadline(has('never'), { at: 3_610_000, since: 3_600_000 }, SIGNAL);
    assert.equal(server.asked.length, 2);
  });
});

const WANTED = { name: 'shutdown-a', reason: 'reboot', stage: 'Drain', drainPlan: [] } as const;
const DEADLINE = { since: 1_000_000, at: 1_060_000 };

describe('the NodeMaintenance that the agent makes', () => {
  it('the maintenance is known as the one of the agent of its node, also where the name is too long for a label', () => {
    for (const node of ['node-a', `node-${'x'.repeat(100)}`]) {
      assert.equal(agentNodeOf(maintenanceBody({ ...WANTED, name: `shutdown-${node}-0` }, node)), node);
    }
  });

  it('the maintenance has the annotations of a deadline and of the kind of a shutdown only where these are known', () => {
    assert.equal(maintenanceBody(WANTED, 'node-a').metadata.annotations, undefined);
    const known = maintenanceBody({ ...WANTED, deadline: DEADLINE, shutdownKind: 'reboot' }, 'node-a');
    assert.equal(known.metadata.annotations?.[SHUTDOWN_KIND_ANNOTATION], 'reboot');
    assert.deepEqual(deadlineOf(known), DEADLINE);
  });
});

const NAME = 'shutdown-n-1';
const MADE = ownMaintenanceOf('n', { name: NAME, uid: 'u-1' });
const OTHER = ownMaintenanceOf('n', { name: NAME, uid: 'u-2' });
const COMPLETE: NodeMaintenance = { ...MADE, spec: { ...MADE.spec, stage: 'Complete' } };

function deleting(maintenance: NodeMaintenance): NodeMaintenance {
  return { ...maintenance, metadata: { ...maintenance.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
}

/** What the watch shows one after the other, and the state after it; undefined for an object that is gone. */
const histories: [string, readonly (NodeMaintenance | undefined)[], OwnState][] = [
  ['is there', [MADE], 'open'],
  ['was not shown yet', [], 'open'],
  ['was deleted', [MADE, undefined], 'deleted'],
  ['is being deleted', [MADE, deleting(MADE)], 'deleted'],
  ['is being deleted, and completed by the controller for that', [MADE, deleting(MADE), deleting(COMPLETE)], 'deleted'],
  ['was deleted, and its name taken by another one', [MADE, OTHER], 'deleted'],
  ['was completed', [MADE, COMPLETE], 'completed'],
  ['was completed, and deleted after that', [MADE, COMPLETE, deleting(COMPLETE), undefined], 'completed'],
];

describe('the NodeMaintenance that the agent made', () => {
  for (const [what, shown, expected] of histories) {
    it(`the maintenance that ${what} is ${expected}`, () => {
      let copy: NodeMaintenance | undefined;
      const made = new CreatedMaintenances('n', () => copy);
      made.accept(MADE);
      for (const next of shown) {
        copy = next;
        made.changed(NAME);
      }
      assert.equal(made.state(NAME), expected);
    });
  }

  it('the maintenance that was completed while no agent ran is not known as its own: the name is taken', () => {
    const made = new CreatedMaintenances('n', () => COMPLETE);
    made.changed(NAME);
    assert.equal(made.state(NAME), 'taken');
  });
});
