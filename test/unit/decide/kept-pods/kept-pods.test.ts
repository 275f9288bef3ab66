import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MIRROR_ANNOTATION } from '../../../../src/api/names.ts';
import type { KeptPods, NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { drainOutcome } from '../../../../src/decide/drain/drained-condition.ts';
import { drainOfMaintenance } from '../../../../src/decide/drain/observed-drain.ts';
import { type DrainResolution, resolveDrains } from '../../../../src/decide/drain/resolution.ts';
import { decideRetention } from '../../../../src/decide/eviction/requester.ts';
import { drainPodOf } from '../../../../src/decide/pod.ts';
import { drainView } from '../../../../src/show/progress/drain-progress.ts';
import { drainLines } from '../../../../src/cli/follow/maintenance/drain-text.ts';
import { ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const NODE = 'n1';
const owned = (kind: string): Partial<Pod['metadata']> => ({
  ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'o', controller: true }],
});
const pod = (name: string, metadata: Partial<Pod['metadata']>, spec: Pod['spec'] = {}): Pod => ({
  metadata: { name, namespace: 'default', uid: name, ...metadata },
  spec: { nodeName: NODE, ...spec },
  status: { phase: 'Running' },
});
const WEB = pod('web', owned('ReplicaSet'));
const NAKED = pod('naked', {});
const SCRATCH = pod('scratch', owned('ReplicaSet'), { volumes: [{ name: 's', emptyDir: {} }] });
const LOGGER = pod('logger', owned('DaemonSet'));
const PROXY = pod('proxy', { annotations: { [MIRROR_ANNOTATION]: 'x' } });
const ALL = [WEB, NAKED, SCRATCH, LOGGER, PROXY];

function maintenance(name: string, keepPods: readonly KeptPods[] = []): NodeMaintenance {
  const matchFields = [{ key: 'metadata.name', operator: 'In' as const, values: [NODE] }];
  const keep = keepPods.length === 0 ? {} : { keepPods };
  const nodeSelector = { nodeSelectorTerms: [{ matchFields }] };
  return { metadata: { name, uid: name }, spec: { stage: 'Drain', nodeSelector, ...keep } };
}

/** A maintenance as it is when its last resolution is written. */
function recorded(of: NodeMaintenance, resolution: DrainResolution | undefined): NodeMaintenance {
  const nodeStatuses = (resolution?.nodes ?? []).map(({ name, drainTargets, position }) => {
    return { nodeRef: { name }, drainTargets, drainPlanPosition: position };
  });
  return { ...of, status: { drainPlanPosition: resolution?.position ?? 0, nodeStatuses } };
}

/** Drains a node: what leaves in each step, in the order in which it does, until nothing does. */
function drainAll(maintenances: readonly NodeMaintenance[]): {
  readonly steps: readonly string[];
  readonly last: ReadonlyMap<string, DrainResolution>;
  readonly written: readonly NodeMaintenance[];
} {
  let [pods, written] = [ALL, maintenances];
  const steps: string[] = [];
  for (;;) {
    const node = { name: NODE, pods: pods.map(drainPodOf), due: 0 };
    const last = resolveDrains(written.map((each) => drainOfMaintenance(each, { nodes: [node], isWhole: true })));
    written = written.map((each) => recorded(each, last.get(each.metadata.name)));
    const leaving = new Set(
      [...last.values()].flatMap(({ nodes }) => nodes.flatMap(({ evicting }) => evicting)).map(({ uid }) => uid),
    );
    if (leaving.size === 0) return { steps, last, written };
    steps.push([...leaving].toSorted().join(' '));
    pods = pods.filter(({ metadata }) => !leaving.has(metadata.uid ?? ''));
  }
}

const typesOf = (resolution: DrainResolution | undefined): readonly string[] =>
  (resolution?.nodes[0]?.drainTargets ?? []).map(({ podType }) => podType);

describe('pods that a maintenance keeps', () => {
  it('all pods leave where it keeps none', () => {
    const { steps, last } = drainAll([maintenance('m')]);
    assert.deepEqual(steps, ['naked scratch web', 'logger', 'proxy']);
    assert.equal(last.get('m')?.drained, true);
  });

  it('the node is drained when only they are left, and the condition names them', () => {
    const own = maintenance('m', ['DaemonSet', 'Static', 'Unmanaged', 'EmptyDir']);
    const { steps, last, written } = drainAll([own]);
    const resolution = last.get('m');
    assert.deepEqual(steps, ['web']);
    assert.deepEqual(typesOf(resolution), ['Default'], 'neither the gate nor an agent acts by it');
    assert.deepEqual(drainOutcome(own, resolution ?? { nodes: [], drained: false, position: 0 }), {
      drained: true,
      reason: 'DrainCompleted',
      message:
        'All pods that can leave are gone. What stays: kept by the maintenance (keepPods): default/logger, default/naked, default/proxy, default/scratch.',
    });
    const pods = ALL.filter((each) => each !== WEB);
    const view = drainView(
      { maintenance: written[0] ?? own, nodes: [NODE], pods, requestOf: () => undefined, seen: new Map() },
      0,
    );
    const lines = drainLines(view, 200, 0).map(({ text }) => text);
    assert.equal(
      lines.at(-1),
      'node/n1  drained, 0 of 0 pods gone, 4 pods kept: default/logger, default/naked, default/proxy, default/scratch',
    );
  });

  for (const [keep, steps] of [
    [['DaemonSet'], ['naked scratch web', 'proxy']],
    [['Static'], ['naked scratch web', 'logger']],
    [['Unmanaged'], ['scratch web', 'logger', 'proxy']],
    [['EmptyDir'], ['naked web', 'logger', 'proxy']],
  ] as const)
    it(`a maintenance that keeps ${keep.join()} takes the others in their order`, () => {
      assert.deepEqual(drainAll([maintenance('m', keep)]).steps, steps);
    });

  it('a machine that goes down keeps none of them, and does not wait for who keeps them', () => {
    const keeps = maintenance('keeps', ['DaemonSet', 'Static', 'Unmanaged', 'EmptyDir']);
    const shutdown = ownMaintenanceOf(NODE, { name: 'shutdown-n1-x', uid: 'shutdown-n1-x' });
    const { steps, last } = drainAll([keeps, shutdown]);
    assert.deepEqual(steps, ['naked scratch web', 'logger', 'proxy']);
    assert.deepEqual([last.get('keeps')?.drained, last.get(shutdown.metadata.name)?.drained], [true, true]);
    assert.deepEqual(typesOf(last.get('keeps')), ['Default'], 'static pods come back when the shutdown is over');
    assert.deepEqual(typesOf(last.get(shutdown.metadata.name)), ['Default', 'DaemonSet', 'Static']);
  });

  it('the request for a kept pod is taken back when nobody else wants it gone', () => {
    const requesters = [{ name: 'nodemaintenance.k8s.io' }];
    const target = { pod: { name: 'naked', uid: 'naked' } };
    const request = { metadata: { name: 'naked', namespace: 'default' }, spec: { target, requesters } };
    const targets = [{ podType: 'Default', podPriority: 0 }] as const;
    const drain = { maintenance: 'm', reason: '', drainTargets: targets };
    const step = (keep: readonly KeptPods[]): string => decideRetention(request, NAKED, [{ ...drain, keep }]);
    assert.deepEqual([step([]), step(['Unmanaged']), step(['EmptyDir'])], ['keep', 'withdraw', 'keep']);
  });
});
