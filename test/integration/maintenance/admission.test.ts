import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NodeStatus, Stage } from '../../../src/api/node-maintenance.ts';
import { summaryOf } from '../../../src/decide/drain/summary.ts';
import { NODE_MAINTENANCES, NODES, objectPath } from '../../../src/kube/resource.ts';
import { statusMessage } from '../../../src/kube/request.ts';
import { hasMutatingPolicies, withoutMutatingPolicies } from '../../control-plane/releases.ts';
import {
  type AdmissionRig,
  assertAllowed,
  assertRefused,
  buildAdmissionRig,
  send,
} from '../../support/rigs/admission.ts';
import {
  createMaintenance,
  deleteMaintenance,
  madeMaintenance,
  patchMaintenance,
  specOf,
} from '../../support/maintenance/calls.ts';
import { byName, maintenanceOf } from '../../support/maintenance/objects.ts';
import type { NodeCondition } from '../../../src/api/pod.ts';
import { waitFor } from '../../support/wait-for.ts';

const STAGES: readonly Stage[] = ['Idle', 'Cordon', 'Drain', 'Complete'];
const PATH = '/apis/nodemaintenance.x-k8s.io/v1alpha1/nodemaintenances';

let rig: AdmissionRig;
before(async () => {
  rig = await buildAdmissionRig();
});
after(async () => {
  await rig[Symbol.asyncDispose]();
});

describe('the stage of a NodeMaintenance', () => {
  it('the stage is Idle where none is given, and may be any when the maintenance is made', async () => {
    assert.equal(specOf(await createMaintenance(rig.admin, maintenanceOf(), 'dryRun')).stage, 'Idle');
    for (const stage of STAGES) {
      assert.equal(specOf(await createMaintenance(rig.admin, maintenanceOf({ stage }), 'dryRun')).stage, stage);
    }
  });

  for (const [from, old] of STAGES.entries()) {
    for (const [to, fresh] of STAGES.entries()) {
      it(`the stage ${to >= from ? 'may' : 'may not'} change from ${old} to ${fresh}`, async () => {
        const name = await madeMaintenance(rig.admin, { stage: old });
        const response = await patchMaintenance(rig.admin, name, { spec: { stage: fresh } });
        if (to >= from) {
          assert.equal(specOf(response).stage, fresh);
          return;
        }
        const final = old === 'Complete' ? ', and Complete is final' : '';
        const words = `spec.stage: Forbidden: the stage may not go back from ${old} to ${fresh}: the order is Idle, Cordon, Drain, Complete${final}`;
        assertRefused(response, /Forbidden/);
        assert.ok(statusMessage(response).endsWith(words), statusMessage(response));
      });
    }
  }

  it('the stage may not be removed once it has left Idle, because it would be Idle again', async () => {
    const name = await madeMaintenance(rig.admin, { stage: 'Drain' });
    const response = await patchMaintenance(rig.admin, name, { spec: { stage: null } });
    assertRefused(response, /may not go back from Drain to Idle/);
  });

  it('the stage selects the maintenances of a list', async () => {
    const name = await madeMaintenance(rig.admin, { stage: 'Cordon', reason: 'to be found' });
    const list = async (stage: Stage): Promise<readonly string[]> => {
      const response = await send(rig.admin, { method: 'GET', path: `${PATH}?fieldSelector=spec.stage%3D${stage}` });
      return (response.body as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
    };
    assert.ok((await list('Cordon')).includes(name));
    assert.ok(!(await list('Drain')).includes(name));
  });
});

describe('the immutable fields of a NodeMaintenance', () => {
  const plan = [{ podType: 'Default', podPriority: 5 }];

  it('the nodeSelector never changes: other nodes are another maintenance', async () => {
    for (const stage of STAGES) {
      const name = await madeMaintenance(rig.admin, { stage });
      const response = await patchMaintenance(rig.admin, name, { spec: { nodeSelector: byName('node-b') } });
      assertRefused(response, /nodeSelector is immutable: complete this maintenance and create another one/);
      assertAllowed(await patchMaintenance(rig.admin, name, { spec: { reason: 'another' } }));
    }
  });

  it('the plan may be neither changed nor removed', async () => {
    const name = await madeMaintenance(rig.admin, { drainPlan: plan });
    const words = /spec.drainPlan: Forbidden: drainPlan is immutable/;
    for (const drainPlan of [null, [], [{ podType: 'Default', podPriority: 6 }], [...plan, ...plan]]) {
      assertRefused(await patchMaintenance(rig.admin, name, { spec: { drainPlan } }), words);
    }
    assertRefused(await patchMaintenance(rig.admin, name, { spec: { stage: 'Drain', drainPlan: [] } }), words);
  });

  it('the pods that are kept may change until the drain begins', async () => {
    const name = await madeMaintenance(rig.admin, { stage: 'Idle' });
    for (const spec of [
      { keepPods: ['Static'] },
      { stage: 'Cordon', keepPods: null },
      { stage: 'Drain', keepPods: ['DaemonSet', 'Static'] },
    ])
      assertAllowed(await patchMaintenance(rig.admin, name, { spec }));
    const words = /spec.keepPods: Forbidden: keepPods is immutable from the stage Drain on/;
    for (const keepPods of [null, [], ['Static'], ['DaemonSet', 'Static', 'EmptyDir']])
      assertRefused(await patchMaintenance(rig.admin, name, { spec: { keepPods } }), words);
    assertAllowed(await patchMaintenance(rig.admin, name, { spec: { keepPods: ['Static', 'DaemonSet'] } }));
    const all = await madeMaintenance(rig.admin, { stage: 'Drain' });
    assertRefused(await patchMaintenance(rig.admin, all, { spec: { keepPods: ['Static'] } }), words);
    const idle = await madeMaintenance(rig.admin, { stage: 'Idle' });
    for (const keepPods of [['All'], ['Static', 'Static'], 'Static'])
      assertRefused(await patchMaintenance(rig.admin, idle, { spec: { keepPods } }), /spec.keepPods/);
  });

  const skip = withoutMutatingPolicies('no plan is changed');

  it('the plan may not change where the default entries were never injected', { skip }, async () => {
    const policy = 'mutatingadmissionpolicybinding/nodemaint-node-maintenance-plan';
    const saved = await rig.controlPlane.kubectl(['get', policy, '-o', 'json']);
    await rig.controlPlane.kubectl(['delete', policy]);
    let name = '';
    let length = 12;
    for (let tries = 0; length >= 12 && tries < 300; tries += 1) {
      const body = maintenanceOf({ drainPlan: plan });
      length = specOf(await createMaintenance(rig.admin, body)).drainPlan?.length ?? 0;
      name = body.metadata.name;
    }
    const { metadata: _, ...binding } = JSON.parse(saved) as { metadata: object };
    const restored = { ...binding, metadata: { name: 'nodemaint-node-maintenance-plan' } };
    await rig.controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(restored));
    assert.equal(length, 1);
    // Whoever changes another field, the controller above all, must not be stopped by an injection that comes late.
    for (let tries = 0; length < 12; tries += 1) {
      assert.ok(tries < 300);
      length = specOf(await createMaintenance(rig.admin, maintenanceOf(), 'dryRun')).drainPlan?.length ?? 0;
    }
    const staged = specOf(await patchMaintenance(rig.admin, name, { spec: { stage: 'Drain' } }));
    assert.deepEqual(staged.drainPlan, plan);
    assertRefused(await patchMaintenance(rig.admin, name, { spec: { drainPlan: null } }), /drainPlan is immutable/);
  });

  it('a manifest may be applied again, with the plan as its author wrote it', async () => {
    const apply = async (stage: Stage, drainPlan: object): Promise<string> =>
      await rig.controlPlane.kubectl(
        ['apply', '-f', '-'],
        JSON.stringify(maintenanceOf({ stage, drainPlan }, { name: 'applied' })),
      );
    assert.match(await apply('Cordon', plan), /created/);
    assert.match(await apply('Drain', plan), /configured/);
    const { body } = await send(rig.admin, { method: 'GET', path: objectPath(NODE_MAINTENANCES, { name: 'applied' }) });
    const { spec } = body as ReturnType<typeof maintenanceOf>;
    assert.equal(spec.stage, 'Drain');
    assert.equal(spec.drainPlan?.length, hasMutatingPolicies() ? 13 : 1);
    await assert.rejects(apply('Drain', [{ podType: 'Default', podPriority: 6 }]), /drainPlan is immutable/);
  });

  it('a maintenance that is Idle and deleted is gone at once', async () => {
    const name = await madeMaintenance(rig.admin);
    assertAllowed(await deleteMaintenance(rig.admin, name));
    assert.equal((await send(rig.admin, { method: 'GET', path: objectPath(NODE_MAINTENANCES, { name }) })).status, 404);
  });
});

describe('the output for people about a NodeMaintenance', () => {
  it('kubectl get prints the stage, nodes, whether it is drained, its pods, reason and age', async () => {
    const name = await madeMaintenance(
      rig.admin,
      { stage: 'Drain', reason: 'firmware', nodeSelector: byName('node-a', 'node-b') },
      { name: 'shown' },
    );
    const nodeStatuses: readonly NodeStatus[] = ['node-b', 'node-a'].map((node) => ({
      nodeRef: { name: node },
      podsPendingEvacuation: 3,
      podsEvacuating: 2,
    }));
    const drained = { type: 'Drained', status: 'False', reason: 'Draining', message: '' };
    const conditions = [{ ...drained, lastTransitionTime: '2026-01-01T10:00:00Z' }];
    const body = { status: { nodeStatuses, summary: summaryOf(nodeStatuses), conditions } };
    const path = objectPath(NODE_MAINTENANCES, { name }, 'status');
    assertAllowed(await send(rig.controller, { method: 'PATCH', path, body, patch: { kind: 'merge' } }));
    const [heads = '', line = ''] = (await rig.controlPlane.kubectl(['get', 'nm', name])).trim().split('\n');
    assert.equal(heads.split(/ {2,}/).join(' '), 'NAME STAGE NODES DRAINED PENDING EVICTING REASON AGE');
    assert.deepEqual(line.split(/ {2,}/).slice(0, 7), [
      'shown',
      'Drain',
      'node-a, node-b',
      'False',
      '6',
      '4',
      'firmware',
    ]);
  });

  it('kubectl explain describes every field that a person writes', async () => {
    const spec = ['', '.nodeSelector', '.nodeSelector.nodeSelectorTerms.matchFields.values', '.stage', '.drainPlan'];
    const plan = ['.drainPlan.podSelector', '.drainPlan.podType', '.drainPlan.podPriority', '.reason'];
    const status = ['', '.nodeStatuses', '.nodeStatuses.drainTargets', '.nodeStatuses.podsBlocking', '.summary'];
    const fields = [...[...spec, ...plan].map((each) => `.spec${each}`), ...status.map((each) => `.status${each}`)];
    for (const field of ['nm', ...fields.map((each) => `nm${each}`)]) {
      const text = await rig.controlPlane.kubectl(['explain', field]);
      assert.doesNotMatch(text, /<empty>/, field);
    }
  });
});

const UNDER_MAINTENANCE: NodeCondition = {
  type: 'MaintenanceInProgress',
  status: 'True',
  reason: 'NodeMaintenance',
  message: 'under maintenance by firmware',
};

describe('a node that a person cordons or uncordons', () => {
  /** Makes a node with a condition and annotations, sets the cordon, and returns what the API server warns of. */
  async function warnings(
    condition: NodeCondition,
    from: boolean,
    to: boolean,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const name = `n-${crypto.randomUUID()}`;
    const kind = { apiVersion: 'v1', kind: 'Node' };
    const body = { ...kind, metadata: { name, annotations }, spec: { unschedulable: from } };
    assertAllowed(await send(rig.admin, { method: 'POST', path: '/api/v1/nodes', body }));
    const patch = { kind: 'strategic' } as const;
    const status = { status: { conditions: [condition] } };
    const path = objectPath(NODES, { name });
    assertAllowed(await send(rig.admin, { method: 'PATCH', path: `${path}/status`, body: status, patch }));
    const change = { spec: { unschedulable: to } };
    const response = await send(rig.admin, { method: 'PATCH', path, body: change, patch });
    assertAllowed(response);
    return String(response.headers['warning'] ?? '');
  }

  it('the API server warns of an uncordon that the maintenance will undo, and names the maintenance', async () => {
    const isWarned = async (): Promise<boolean> => (await warnings(UNDER_MAINTENANCE, true, false)) !== '';
    await waitFor('the policy is in force', isWarned, { timeoutMs: 20_000 });
    const said = await warnings(UNDER_MAINTENANCE, true, false);
    assert.match(said, /is under maintenance by firmware: it will be cordoned again at once/);
  });

  it('the API server warns of a cordon that the maintenance sets in any case', async () => {
    assert.match(
      await warnings(UNDER_MAINTENANCE, false, true),
      /is under maintenance by firmware, which cordons it in any case/,
    );
  });

  it('the API server warns from the cordon on, before any condition says that the node is under maintenance', async () => {
    const none = { ...UNDER_MAINTENANCE, status: 'False' } as const;
    const cordoned = await warnings(none, true, false, { 'nodemaintenance.x-k8s.io/cordoned': 'firmware' });
    assert.match(cordoned, /is under maintenance by firmware: it will be cordoned again at once/);
    const noted = await warnings(none, true, false, { 'nodemaintenance.x-k8s.io/maintenances': '{}' });
    assert.match(noted, /is under maintenance: it will be cordoned again at once/);
  });

  it('the API server gives no warning without a maintenance of ours, or where the cordon stays as it is', async () => {
    assert.equal(await warnings(UNDER_MAINTENANCE, true, true), '');
    for (const [from, to] of [
      [true, false],
      [false, true],
    ] as const) {
      assert.equal(await warnings({ ...UNDER_MAINTENANCE, status: 'False' }, from, to), '');
      assert.equal(await warnings({ ...UNDER_MAINTENANCE, reason: 'AdminRequested' }, from, to), '');
    }
  });
});
