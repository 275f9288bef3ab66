import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance, NodeMaintenanceStatus, PodType } from '../../../../src/api/node-maintenance.ts';
import { drainOfMaintenance } from '../../../../src/decide/drain/observed-drain.ts';
import type { NodeIdentity } from '../../../../src/decide/maintenance/recorded-node.ts';
import { type DrainResolution, resolveDrains } from '../../../../src/decide/drain/resolution.ts';
import { drainStatus } from '../../../../src/decide/drain/status.ts';
import { resolveSelfDrains } from '../../../../src/decide/drain/self-drain.ts';
import type { DrainPod } from '../../../../src/decide/pod.ts';
import { maintenanceOf } from '../../../support/maintenance/objects.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const ALL: readonly PodType[] = ['Default', 'DaemonSet', 'Static'];
const LABELLED = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'maintenance', operator: 'Exists' }] }] };

function podsOn(node: string, podTypes: readonly PodType[] = ALL): readonly DrainPod[] {
  return podTypes.map((podType) => {
    const name = `${node}-${podType}`;
    return { namespace: 'default', name, uid: name, podType, priority: 0, labels: {} };
  });
}

/** Maintenances as a controller drains them, over nodes that come and go; each look records its status. */
class Cluster {
  readonly pods = new Map<string, readonly DrainPod[]>();
  readonly #selected = new Map<string, readonly NodeIdentity[]>();
  readonly #maintenances = new Map<string, NodeMaintenance>();

  select(maintenance: string, ...nodes: readonly NodeIdentity[]): void {
    this.#selected.set(maintenance, nodes);
    const made = maintenanceOf({ stage: 'Drain', nodeSelector: LABELLED }, { name: maintenance });
    if (!this.#maintenances.has(maintenance)) this.#maintenances.set(maintenance, made);
  }

  record(maintenance: string, status: NodeMaintenanceStatus): void {
    const known = this.#maintenances.get(maintenance);
    if (known !== undefined) this.#maintenances.set(maintenance, { ...known, status: { ...known.status, ...status } });
  }

  status(maintenance: string): NodeMaintenanceStatus {
    return this.#maintenances.get(maintenance)?.status ?? {};
  }

  look(): ReadonlyMap<string, DrainResolution> {
    const drains = [...this.#maintenances.values()].map((maintenance) => {
      const selected = this.#selected.get(maintenance.metadata.name) ?? [];
      const nodes = selected.map((node) => ({ ...node, pods: this.pods.get(node.name) ?? [], due: 0 }));
      return drainOfMaintenance(maintenance, { nodes, isWhole: true });
    });
    const resolved = resolveDrains(drains);
    const seen = { evacuating: 0, blocking: [], overLimit: 0, ungatedDaemonSets: [] };
    for (const [name, maintenance] of this.#maintenances) {
      const own = resolved.get(name);
      if (own !== undefined)
        this.record(
          name,
          drainStatus(maintenance, own, () => seen, NOW),
        );
    }
    return resolved;
  }

  /** The pods that leave each node, and why the others stay. */
  see(maintenance: string): readonly string[] {
    const { nodes = [] } = this.look().get(maintenance) ?? {};
    return nodes.map(({ name, evicting, message }) => {
      return `${name}: ${evicting.map(({ podType }) => podType).join(' ')}; ${message}`;
    });
  }

  /** Lets all pods leave that are evicted, look by look, until nothing changes. */
  drain(): void {
    for (let step = 0; step < 50; step += 1) {
      for (const { nodes } of this.look().values()) {
        for (const { name, evicting } of nodes) {
          this.pods.set(
            name,
            (this.pods.get(name) ?? []).filter((pod) => !evicting.includes(pod)),
          );
        }
      }
    }
  }

  leave(node: string, ...podTypes: readonly PodType[]): void {
    const left = (this.pods.get(node) ?? []).filter(({ podType }) => !podTypes.includes(podType));
    this.pods.set(node, left);
  }
}

const A = { name: 'a', uid: 'uid-a' };
const B = { name: 'b', uid: 'uid-b' };

describe('the nodes of a drain', () => {
  it('a drain without nodes goes no further, and the first node that it selects goes through the plan from its beginning', () => {
    const cluster = new Cluster();
    cluster.select('m');
    cluster.look();
    assert.equal(cluster.status('m').drainPlanPosition, 0);
    cluster.pods.set('a', podsOn('a'));
    cluster.select('m', A);
    assert.deepEqual(cluster.see('m'), ['a: Default; Evacuating']);
    cluster.leave('a', 'Default');
    assert.deepEqual(cluster.see('m'), ['a: DaemonSet; Evacuating']);
    cluster.leave('a', 'DaemonSet');
    assert.deepEqual(cluster.see('m'), ['a: Static; Evacuating']);
  });

  it('a node that joins after the others have drained goes through the plan from its beginning', () => {
    const cluster = new Cluster();
    cluster.pods.set('a', podsOn('a'));
    cluster.select('m', A);
    cluster.drain();
    assert.deepEqual(cluster.see('m'), ['a: ; Drained']);
    cluster.pods.set('b', podsOn('b'));
    cluster.select('m', A, B);
    assert.deepEqual(cluster.see('m'), ['a: ; Drained', 'b: Default; Evacuating']);
    cluster.leave('b', 'Default');
    assert.deepEqual(cluster.see('m'), ['a: ; Drained', 'b: DaemonSet; Evacuating']);
  });

  it('the nodes that are ahead of one that joins late keep their targets and wait for it', () => {
    const cluster = new Cluster();
    cluster.pods.set('a', podsOn('a'));
    cluster.select('m', A);
    cluster.look();
    cluster.leave('a', 'Default');
    assert.deepEqual(cluster.see('m'), ['a: DaemonSet; Evacuating']);
    cluster.leave('a', 'DaemonSet');
    cluster.pods.set('b', podsOn('b'));
    cluster.select('m', A, B);
    // The Static entry comes when nothing of the earlier ones is left on any node.
    assert.deepEqual(cluster.see('m'), ['a: ; Waiting for node b.', 'b: Default; Evacuating']);
    cluster.pods.set('a', podsOn('a', ['DaemonSet', 'Static']));
    assert.deepEqual(cluster.see('m'), ['a: DaemonSet; Evacuating', 'b: Default; Evacuating'], 'no backtracking');
    cluster.leave('a', 'DaemonSet');
    cluster.leave('b', 'Default');
    assert.deepEqual(cluster.see('m'), ['a: ; Waiting for node b.', 'b: DaemonSet; Evacuating']);
    cluster.leave('b', 'DaemonSet');
    assert.deepEqual(cluster.see('m'), ['a: Static; Evacuating', 'b: Static; Evacuating']);
  });

  it('a node that catches up does not wait for what leaves the others in later entries', () => {
    const cluster = new Cluster();
    cluster.pods.set('a', podsOn('a', ['Static']));
    cluster.select('m', A);
    assert.deepEqual(cluster.see('m'), ['a: Static; Evacuating']);
    cluster.pods.set('b', podsOn('b'));
    cluster.select('m', A, B);
    assert.deepEqual(cluster.see('m'), ['a: Static; Evacuating', 'b: Default; Evacuating']);
    cluster.leave('b', 'Default');
    assert.deepEqual(cluster.see('m'), ['a: Static; Evacuating', 'b: DaemonSet; Evacuating']);
    cluster.leave('b', 'DaemonSet');
    assert.deepEqual(cluster.see('m'), ['a: Static; Evacuating', 'b: Static; Evacuating']);
  });

  it('a node that leaves the selector and comes back goes through the plan from its beginning', () => {
    const cluster = new Cluster();
    cluster.pods.set('a', podsOn('a'));
    cluster.select('m', A);
    cluster.drain();
    cluster.select('m');
    cluster.look();
    cluster.pods.set('a', podsOn('a'));
    cluster.select('m', A);
    assert.deepEqual(cluster.see('m'), ['a: Default; Evacuating']);
  });

  it('a node that registers anew goes through the plan from its beginning, for each of its maintenances', () => {
    const cluster = new Cluster();
    cluster.pods.set('a', podsOn('a'));
    cluster.select('m', A);
    cluster.select('other', A);
    cluster.drain();
    cluster.pods.set('a', podsOn('a'));
    const again = { ...A, uid: 'uid-a-2' };
    cluster.select('m', again);
    cluster.select('other', again);
    assert.deepEqual(cluster.see('m'), ['a: Default; Evacuating']);
    assert.deepEqual(cluster.see('other'), ['a: Default; Evacuating']);
    const [node] = cluster.status('m').nodeStatuses ?? [];
    assert.deepEqual(node?.nodeRef, again);
    assert.equal(node.podsAtStart, 3, 'the pods of the node that was there before do not count');
  });
});

describe('a status that another version wrote', () => {
  const targets = podsOn('x').map(({ podType }) => ({ podType, podPriority: 2_147_483_647 }));

  it('a node goes on with the targets that its agent handed over, which writes no position', () => {
    const cluster = new Cluster();
    cluster.pods.set('a', podsOn('a', ['Static']));
    cluster.select('m', A);
    cluster.record('m', {
      nodeStatuses: [{ nodeRef: { name: 'a' }, drainTargets: targets, drainStartTime: '2026-01-01T00:00:00Z' }],
    });
    const [node] = cluster.look().get('m')?.nodes ?? [];
    assert.equal(node?.position, 12);
    assert.equal(node.evicting.length, 1);
  });

  it('a position beyond the plan is the end of the plan', () => {
    const cluster = new Cluster();
    cluster.pods.set('a', podsOn('a'));
    cluster.pods.set('b', podsOn('b'));
    cluster.select('m', A, B);
    const nodeStatuses = ['a', 'b'].map((name) => ({
      nodeRef: { name },
      drainPlanPosition: 112,
      drainTargets: targets,
    }));
    cluster.record('m', { nodeStatuses });
    assert.deepEqual(
      cluster
        .look()
        .get('m')
        ?.nodes.map(({ position }) => position),
      [12, 12],
    );
  });
});

describe('the agent of a node that registers anew', () => {
  const byName = { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }] };
  const status: NodeMaintenanceStatus = {
    drainPlanPosition: 12,
    nodeStatuses: [
      {
        nodeRef: { name: 'a', uid: 'uid-a' },
        drainPlanPosition: 12,
        drainTargets: podsOn('a').map(({ podType }) => ({ podType, podPriority: 2_147_483_647 })),
      },
    ],
  };
  const evictingOf = (uid: string, nodeSelector: NodeMaintenance['spec']['nodeSelector']): readonly PodType[] => {
    const maintenance = { ...maintenanceOf({ stage: 'Drain', nodeSelector }, { name: 'm' }), status };
    const drains = resolveSelfDrains([maintenance], { name: 'a', uid }, podsOn('a'));
    return drains.flatMap(({ resolution }) => resolution.nodes[0]?.evicting.map(({ podType }) => podType) ?? []);
  };

  it('the agent takes its node through the plan from its beginning, as a controller does', () => {
    assert.deepEqual(evictingOf('uid-a', byName), ALL);
    assert.deepEqual(evictingOf('uid-a-2', byName), ['Default']);
  });

  it('the agent goes no further than the first entry where the maintenance has other nodes', () => {
    assert.deepEqual(evictingOf('uid-a', LABELLED), ALL);
    assert.deepEqual(evictingOf('uid-a-2', LABELLED), ['Default']);
  });
});
