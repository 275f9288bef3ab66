import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KeptPods, NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Consent } from '../../../../src/decide/kept-pods/consent.ts';
import {
  decideMaintenanceStep,
  maintenanceNames,
  selectorOfNodes,
} from '../../../../src/decide/maintenance/new-maintenance.ts';
import { ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

function maintenance(name: string, spec: Partial<NodeMaintenance['spec']>, meta: object = {}): NodeMaintenance {
  return { metadata: { name, uid: `uid-${name}`, ...meta }, spec: { nodeSelector: selectorOfNodes(['n']), ...spec } };
}

describe('the maintenance that a command means', () => {
  const intent = { nodes: ['n'], stage: 'Drain' } as const;

  it('what is kept is written while it may be, and a drain that does otherwise is no answer', () => {
    const consent = { keep: ['Static'], lose: ['Unmanaged'] } as const;
    const keepPods = ['Static', 'EmptyDir'] as const;
    const made = decideMaintenanceStep({ ...intent, consent }, []);
    assert.deepEqual(made.kind === 'create' && made.maintenance.spec.keepPods, keepPods);
    const cordon = maintenance('m', { stage: 'Cordon' });
    const change = { spec: { stage: 'Drain', keepPods } };
    const moved = decideMaintenanceStep({ ...intent, consent }, [cordon]);
    assert.deepEqual(moved, { kind: 'change', known: cordon, change });
    const refused = (known: readonly KeptPods[], said: Consent = consent): string => {
      const drain = maintenance('m', { stage: 'Drain', keepPods: known });
      const step = decideMaintenanceStep({ ...intent, consent: said }, [drain]);
      return step.kind === 'refused' ? step.message : step.kind;
    };
    assert.equal(refused(keepPods), 'already');
    assert.equal(refused([], { keep: [], lose: [] }), 'already', 'it says nothing that the drain does not do');
    assert.match(refused(['EmptyDir']), /keeps other pods \(keepPods: EmptyDir\), which cannot be changed/);
    assert.match(refused(['Static', 'Unmanaged']), /keepPods: Static, Unmanaged\)/);
  });

  it('the maintenance of the same nodes is moved on, never back, and not that of the agent', () => {
    const cordon = maintenance('m', { stage: 'Cordon' });
    const moved = { kind: 'change', known: cordon, change: { spec: { stage: 'Drain' } } };
    assert.deepEqual(decideMaintenanceStep(intent, [cordon]), moved);
    const forced = { annotations: { 'nodemaintenance.x-k8s.io/force': 'true' } };
    const change = decideMaintenanceStep({ ...intent, stage: 'Cordon', force: true }, [cordon]);
    assert.deepEqual(change, { kind: 'change', known: cordon, change: forced });
    const known = maintenance('m', { stage: 'Cordon' }, forced);
    assert.equal(decideMaintenanceStep({ ...intent, stage: 'Cordon', force: true }, [known]).kind, 'already');
    const drain = maintenance('m', { stage: 'Drain' });
    assert.equal(decideMaintenanceStep({ ...intent, stage: 'Cordon' }, [drain]).kind, 'already');
    const agent = ownMaintenanceOf('n');
    assert.equal(decideMaintenanceStep(intent, [agent]).kind, 'create');
    assert.equal(decideMaintenanceStep({ ...intent, name: agent.metadata.name }, [agent]).kind, 'refused');
    const deleted = maintenance('m', { stage: 'Drain' }, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    assert.equal(decideMaintenanceStep(intent, [deleted]).kind, 'create');
    const more = maintenance('m', { stage: 'Drain', nodeSelector: selectorOfNodes(['n', 'o']) });
    assert.equal(decideMaintenanceStep(intent, [more]).kind, 'create');
  });

  it('a name of the agents is refused for a new maintenance, and one that has such a name is moved on', () => {
    for (const name of ['shutdown-n-0', 'shutdown-rack', 'notice-n-0']) {
      const step = decideMaintenanceStep({ ...intent, name }, []);
      assert.match(step.kind === 'refused' ? step.message : step.kind, /belong to the agents of the nodes/);
      const known = maintenance(name, { stage: 'Cordon' });
      assert.equal(decideMaintenanceStep({ ...intent, name }, [known]).kind, 'change');
    }
    assert.equal(decideMaintenanceStep({ ...intent, name: 'my-shutdown-n-0' }, []).kind, 'create');
  });

  it('another plan is refused, because a plan cannot be changed; the injected entries do not count', () => {
    const entry = { podType: 'Default', podPriority: 5 } as const;
    const drainPlan = [entry, { podType: 'Default', podPriority: 1_000_000_000 }] as const;
    const drain = maintenance('m', { stage: 'Drain', drainPlan });
    assert.equal(decideMaintenanceStep({ ...intent, plan: [entry] }, [drain]).kind, 'already');
    assert.equal(decideMaintenanceStep({ ...intent, plan: [{ ...entry, podPriority: 6 }] }, [drain]).kind, 'refused');
  });

  it('names are the same for the same nodes, however many and however long they are', () => {
    assert.equal(maintenanceNames(['a', 'b'])[0], 'maintenance-a-b');
    const long = Array.from({ length: 40 }, (_, index) => `node-${index}.${'x'.repeat(240)}`);
    for (const name of maintenanceNames(long).slice(0, 3)) assert.ok(name.length <= 253, name);
    assert.equal(maintenanceNames(['a', 'b'])[1], 'maintenance-a-b-2');
  });
});
