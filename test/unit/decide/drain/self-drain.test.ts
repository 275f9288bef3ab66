import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { AGENT_LABEL } from '../../../../src/api/names.ts';
import type { KeptPods, NodeMaintenance, NodeMaintenanceStatus, Stage } from '../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { soleNodeOf } from '../../../../src/decide/maintenance/maintenance.ts';
import { awaitingPodOf, maintenancesOfNode, resolveSelfDrains } from '../../../../src/decide/drain/self-drain.ts';
import type { DrainPod } from '../../../../src/decide/pod.ts';
import { byName, maintenanceOf } from '../../../support/maintenance/objects.ts';

const NODE = 'node-a';
const LOGGER: DrainPod = { namespace: 'd', name: 'logger', uid: 'l', podType: 'DaemonSet', priority: 0, labels: {} };

function drain(
  nodes: readonly string[],
  status?: NodeMaintenanceStatus,
  labels: Readonly<Record<string, string>> = {},
  stage: Stage = 'Drain',
): NodeMaintenance {
  const metadata = { name: 'shutdown-node-a-0', labels, creationTimestamp: '2026-01-01T00:00:00Z' };
  const made = maintenanceOf({ stage, nodeSelector: byName(...nodes) }, metadata);
  return status === undefined ? made : { ...made, status };
}

const RECORDED: NodeMaintenanceStatus = {
  nodeStatuses: [{ nodeRef: { name: NODE }, drainTargets: [{ podType: 'Default', podPriority: 1_000_000_000 }] }],
  drainPlanPosition: 1,
};
const WAITING: NodeMaintenanceStatus = {
  conditions: [{ type: 'Drained', status: 'False', reason: 'Waiting', message: '', lastTransitionTime: '' }],
};

/** The pods that leave when a DaemonSet pod is all that is left. */
function evicting(maintenance: NodeMaintenance): readonly string[] {
  const own = resolveSelfDrains([maintenance], { name: NODE, uid: 'u-node' }, [LOGGER]);
  return own.flatMap(({ resolution }) => resolution.nodes.flatMap((node) => node.evicting.map(({ name }) => name)));
}

describe('the drains of an agent for its own node', () => {
  it('the agent drains for maintenances of the node alone, and for others that a controller had begun there', () => {
    const names = (maintenance: NodeMaintenance): number => maintenancesOfNode([maintenance], NODE).length;
    assert.equal(names(drain([NODE])), 1);
    assert.equal(names(drain([NODE], undefined, {}, 'Cordon')), 1);
    assert.equal(names(drain([NODE], undefined, {}, 'Complete')), 0);
    assert.equal(names(drain(['node-b'])), 0);
    assert.equal(names(drain([NODE, 'node-b'])), 0);
    assert.equal(names(drain([NODE, 'node-b'], RECORDED)), 1);
  });

  it('the drains of an agent leave alone what their maintenance keeps, as those of the controller do', () => {
    const podOf = (name: string, pod: Partial<DrainPod>): DrainPod => ({ ...LOGGER, name, uid: `u-${name}`, ...pod });
    const pods = [
      LOGGER,
      podOf('etcd', { podType: 'Static', priority: 2_000_001_000 }),
      podOf('bare', { podType: 'Default', lossOf: ['Unmanaged'] }),
      podOf('web', { podType: 'Default' }),
    ];
    const leaving = (keepPods: readonly KeptPods[]): readonly string[] => {
      const kept = drain([NODE]);
      const own = resolveSelfDrains([{ ...kept, spec: { ...kept.spec, keepPods } }], { name: NODE }, pods);
      const nodes = own.flatMap(({ resolution }) => resolution.nodes);
      return nodes.flatMap(({ evicting: now, pending }) => [...now, ...pending].map(({ name }) => name)).toSorted();
    };
    assert.deepEqual(leaving([]), ['bare', 'etcd', 'logger', 'web']);
    assert.deepEqual(leaving(['DaemonSet', 'Static']), ['bare', 'web']);
    assert.deepEqual(leaving(['Unmanaged']), ['etcd', 'logger', 'web']);
    assert.deepEqual(leaving(['DaemonSet', 'Static', 'Unmanaged']), ['web']);
  });

  it('the drains of an agent go through their plan where they are of the node alone, and wait for others it does not see', () => {
    assert.deepEqual(evicting(drain([NODE])), ['logger']);
    assert.deepEqual(evicting(drain([NODE, 'node-b'], RECORDED)), []);
  });

  it('the drains of an agent do not begin where a controller had only cordoned one of several nodes', () => {
    const cordoned = { nodeStatuses: [{ nodeRef: { name: NODE } }] };
    const pod: DrainPod = { ...LOGGER, podType: 'Default' };
    const own = resolveSelfDrains([drain([NODE, 'node-b'], cordoned)], { name: NODE }, [pod]);
    assert.deepEqual(own, []);
    assert.equal(maintenancesOfNode([drain([NODE, 'node-b'], cordoned)], NODE).length, 1, 'its node stays cordoned');
  });

  it('the drains of an agent go on waiting where a controller holds them back, unless the machine goes down with them', () => {
    assert.deepEqual(evicting(drain([NODE], WAITING)), []);
    assert.deepEqual(evicting(drain([NODE], WAITING, { [AGENT_LABEL]: NODE })), ['logger']);
    assert.deepEqual(evicting(drain([NODE], WAITING, { [AGENT_LABEL]: 'node-b' })), []);
  });
});

describe('a maintenance of one node alone', () => {
  it('a maintenance of one node alone selects it by its name and by nothing else', () => {
    assert.equal(soleNodeOf(drain([NODE])), NODE);
    assert.equal(soleNodeOf(drain([NODE, 'node-b'])), undefined);
    const [{ matchFields = [] } = {}] = byName(NODE).nodeSelectorTerms;
    const labels = { matchExpressions: [{ key: 'x', operator: 'Exists' }] };
    const twice = { matchFields: [...matchFields, ...matchFields] };
    for (const nodeSelectorTerms of [[{ matchFields, ...labels }], [{ matchFields }, labels], [twice], []]) {
      assert.equal(soleNodeOf(maintenanceOf({ nodeSelector: { nodeSelectorTerms } })), undefined);
    }
  });
});

const SAVER = { 'interceptor.evictionrequest.coordination.k8s.io/priority_saver.example.com': '10000/controller' };

function podOf(annotations: Readonly<Record<string, string>> = {}, kind?: 'DaemonSet'): Pod {
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true };
  const ownerReferences = kind === undefined ? {} : { ownerReferences: [owner] };
  return { metadata: { name: 'p', namespace: 'default', uid: 'u', annotations, ...ownerReferences }, spec: {} };
}

function requestOf(active: string, finished = false): EvictionRequest {
  const canceled = { type: 'Canceled', status: 'True', reason: 'NoRequesters', message: '', lastTransitionTime: '' };
  return {
    metadata: { name: 'u', namespace: 'default' },
    spec: { target: { pod: { name: 'p', uid: 'u' } } },
    status: { activeInterceptors: [active], conditions: finished ? [{ ...canceled, status: 'True' }] : [] },
  };
}

const holds: readonly [string, Pod, EvictionRequest | undefined, string | undefined][] = [
  ['a pod without interceptors', podOf(), undefined, undefined],
  ['a DaemonSet pod without others', podOf({}, 'DaemonSet'), undefined, undefined],
  ['a mirror pod', podOf({ 'kubernetes.io/config.mirror': 'x' }), undefined, undefined],
  ['a pod that names an interceptor', podOf(SAVER), undefined, 'saver.example.com'],
  ['a DaemonSet pod that names one', podOf(SAVER, 'DaemonSet'), undefined, undefined],
  ['a pod whose interceptor has had its turn', podOf(SAVER), requestOf('imperative-eviction.k8s.io'), undefined],
  ['a pod whose interceptor is at work', podOf(), requestOf('saver.example.com'), 'saver.example.com'],
  ['a pod whose request is over', podOf(SAVER), requestOf('imperative-eviction.k8s.io', true), 'saver.example.com'],
  ['a pod of a workload that names one', { ...podOf(SAVER), spec: { workloadRef: {} } }, undefined, undefined],
];

describe('a pod while no controller is alive', () => {
  for (const [what, pod, request, on] of holds) {
    it(`${what} ${on === undefined ? 'may go' : `waits for ${on}`}`, () => {
      assert.equal(awaitingPodOf(pod, request)?.on, on);
    });
  }
});
