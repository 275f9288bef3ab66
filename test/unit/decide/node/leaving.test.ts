import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KeptPods, NodeMaintenance, NodeStatus } from '../../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../../src/api/pod.ts';
import { decideLeaving, targetedPods } from '../../../../src/decide/node/leaving.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const ALL = (['Default', 'DaemonSet'] as const).map((podType) => ({ podType, podPriority: 2_147_483_647 }));

function podOf(name: string, spec: object = {}, metadata: object = {}): Pod {
  return { metadata: { name, namespace: 'n', uid: `u-${name}`, ...metadata }, spec: { nodeName: 'one', ...spec } };
}

/** A pod of a DaemonSet; this one is a driver of volumes, which leaves when the others are gone. */
function driverOf(name: string, path = '/var/lib/kubelet/plugins_registry'): Pod {
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid: name, controller: true };
  return podOf(name, { volumes: [{ name: 'v', hostPath: { path } }] }, { ownerReferences: [owner] });
}

/** A drain of the node one that has recorded this of it. */
function drainWith(recorded: Partial<NodeStatus>, name = 'm', keepPods: readonly KeptPods[] = []): NodeMaintenance {
  const drainStartTime = rfc3339(NOW - 60_000);
  const status = { nodeStatuses: [{ nodeRef: { name: 'one' }, drainStartTime, ...recorded }] };
  return { ...drainOf(name, ['one'], keepPods.length === 0 ? {} : { keepPods }), status };
}

/** What the drains want of the first of the pods. */
function leaving(pods: readonly Pod[], maintenances: readonly NodeMaintenance[], status?: Node['status']): unknown {
  const node: Node = { metadata: { name: 'one' }, ...(status === undefined ? {} : { status }) };
  const seen = { node, pods: () => pods, maintenances, maxWaitMs: 60_000 };
  const found = decideLeaving(pods[0] ?? assert.fail(), seen, NOW);
  return found.kind === 'asked' ? found.by.metadata.name : found.kind === 'later' ? found.at - NOW : found.kind;
}

describe('whether a pod is asked to leave', () => {
  const web = podOf('web');

  it('the pod goes by the targets that are recorded, of drains that have begun and select the node', () => {
    const other = drainOf('other', ['two']);
    const waiting = { drainTargets: ALL, drainStartTime: undefined };
    const cases: readonly [unknown, readonly NodeMaintenance[]][] = [
      ['m', [drainWith({ drainTargets: ALL })]],
      ['untargeted', [drainWith({})]],
      ['untargeted', [drainOf('m', ['one'])]],
      ['untargeted', [drainWith(waiting as never)]],
      ['untargeted', [{ ...other, status: drainWith({ drainTargets: ALL }).status ?? {} }]],
      ['second', [drainWith({}, 'first'), drainWith({ drainTargets: ALL }, 'second')]],
      ['untargeted', [drainWith({ drainTargets: ALL }, 'm', ['Unmanaged'])]],
    ];
    for (const [expected, maintenances] of cases) assert.equal(leaving([web], maintenances), expected);
  });

  it('a pod that came past the cordon is asked after its pause, and by a drain that began later at once', () => {
    const back = podOf('web', {}, { creationTimestamp: rfc3339(NOW - 5_000) });
    const drain = drainWith({ drainTargets: ALL });
    assert.equal(leaving([back], [drain]), 10_000);
    const later = drainWith({ drainTargets: ALL, drainStartTime: rfc3339(NOW) }, 'later');
    assert.equal(leaving([back], [drain, later]), 'later');
  });

  it('a driver stays for the pods before it, and for volumes until they are given up', () => {
    const drain = drainWith({ drainTargets: ALL });
    const driver = driverOf('csi');
    assert.equal(leaving([driver, web], [drain]), 2_000);
    assert.equal(leaving([driver], [drain]), 'm');
    assert.equal(leaving([driver, driverOf('net', '/opt/cni/bin')], [drain]), 'm');
    assert.equal(leaving([driverOf('net', '/opt/cni/bin'), driver], [drain]), 2_000);
    const volumes = { volumesInUse: ['disk'] };
    assert.equal(leaving([driver], [drain], volumes), 2_000);
    const since = rfc3339(NOW - 120_000);
    const waited = drainWith({ drainTargets: ALL, volumesInUse: { names: ['disk'], since } });
    assert.equal(leaving([driver], [waited], volumes), 'm');
  });
});

describe('the targeted pods of a node', () => {
  it('the targeted pods come in the order of the plan', () => {
    const high = podOf('high', { priority: 2_000_000_000 });
    const pods = [driverOf('csi'), high, podOf('web')];
    const names = (drainTargets: NodeStatus['drainTargets'] = []): readonly string[] => {
      const maintenances = [drainWith({ drainTargets })];
      const seen = { node: { metadata: { name: 'one' } }, pods: () => pods, maintenances };
      return targetedPods(seen).map((pod) => pod.metadata.name);
    };
    assert.deepEqual(names(ALL), ['web', 'high', 'csi']);
    assert.deepEqual(names([{ podType: 'Default', podPriority: 0 }]), ['web']);
    assert.deepEqual(names(), []);
  });
});
