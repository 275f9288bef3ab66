import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DRAINED, type NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Pod, Node } from '../../../../src/api/pod.ts';
import type { ControllerContext } from '../../../../src/controller/context.ts';
import { DrainObserver, type DrainObservation } from '../../../../src/controller/maintenance/observer.ts';
import { isSettled } from '../../../../src/decide/maintenance/maintenance.ts';
import { AGENT_STATUS_ANNOTATION, MIRROR_ANNOTATION, SHUTDOWN_KIND_ANNOTATION } from '../../../../src/api/names.ts';
import { indexesOf, type ListedObjects } from '../../../support/maintenance/indexes.ts';
import { drainOf, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';
import { parseRebootLimit } from '../../../../src/decide/reboot/limit.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { AGENT } from '../../../support/views/cluster.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

function maintenance(
  status: NodeMaintenance['status'],
  stage: 'Idle' | 'Drain' | 'Complete' = 'Drain',
): NodeMaintenance {
  const byName = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['one'] }] };
  return {
    metadata: { name: 'm', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { stage, nodeSelector: { nodeSelectorTerms: [byName] } },
    ...(status === undefined ? {} : { status }),
  };
}

/** A cluster whose cache still has `copy` of the maintenance. */
function clusterOf(copy: NodeMaintenance, pods: readonly Pod[], uid = 'uid-one'): ControllerContext {
  const node = { metadata: { name: 'one', uid } };
  return contextOf({ maintenances: [copy], pods, nodes: [node] });
}

function contextOf(objects: ListedObjects): ControllerContext {
  const part = { options: {}, clock: { now: () => NOW }, ungated: { on: () => [] }, ...indexesOf(objects) };
  return part as unknown as ControllerContext;
}

describe('the observation of a drain', () => {
  it('the observation goes by what the drain has reached, though the cache does not show it yet', () => {
    const late: Pod = { metadata: { name: 'late', namespace: 'n', uid: 'u' }, spec: { nodeName: 'one', priority: 0 } };
    const before = new DrainObserver(clusterOf(maintenance(undefined), []));
    const { status: reached } = before.observe(maintenance(undefined), NOW);
    assert.equal(reached.drainPlanPosition, 12, 'an empty node is through with its plan');
    // A pod comes, and the cache still has the maintenance from before it had reached anything.
    const observer = new DrainObserver(clusterOf(maintenance(undefined), [late]));
    const { status } = observer.observe(maintenance(reached), NOW);
    assert.equal(status.drainPlanPosition, 12, 'no backtracking');
    assert.deepEqual(status.nodeStatuses?.[0]?.drainTargets, reached.nodeStatuses?.[0]?.drainTargets);
  });
});

describe('a drain that is throttled', () => {
  const pods = ['p', 'q'].map((name): Pod => {
    return { metadata: { name, namespace: 'n', uid: `uid-${name}` }, spec: { nodeName: 'one', priority: 0 } };
  });
  const named = (name: string, status: NodeMaintenance['status'], at: string): NodeMaintenance => {
    const made = maintenance(status);
    return { ...made, metadata: { name, creationTimestamp: at } };
  };
  const targets = [{ podType: 'DaemonSet', podPriority: 2_147_483_647 }] as const;
  const begun = { drainPlanPosition: 8, nodeStatuses: [{ nodeRef: { name: 'one' }, drainTargets: targets }] };
  const others = Array.from({ length: 20 }, (_, index) => named(`m-${index}`, begun, '2026-01-01T00:00:00Z'));

  it('the drain records what others have reached on the node, and goes on from there when they have ended', () => {
    const throttled = named('late', undefined, '2026-01-02T00:00:00Z');
    const cluster = clusterOf(throttled, pods);
    const nodes = [{ metadata: { name: 'one', uid: 'uid-one' } }];
    const crowd = contextOf({ maintenances: [...others, throttled], pods, nodes });
    const { status } = new DrainObserver(crowd).observe(throttled, NOW);
    assert.equal(status.conditions?.[0]?.reason, 'Waiting');
    const [node] = status.nodeStatuses ?? [];
    assert.deepEqual(node?.drainTargets, targets);
    assert.equal(node.podsPendingEvacuation, 2);
    const alone = new DrainObserver(cluster).observe({ ...throttled, status }, NOW);
    const podTypes = alone.status.nodeStatuses?.[0]?.drainTargets?.map(({ podType }) => podType);
    assert.deepEqual(podTypes, ['Default', 'DaemonSet'], 'no backtracking');
  });
});

describe('a member of the control plane that joins a drain which has begun', () => {
  const role = { 'node-role.kubernetes.io/control-plane': '' };
  const nodes = ['cp-a', 'cp-b', 'cp-c'].map((name) => ({
    metadata: { name, uid: `uid-${name}`, labels: { ...role, ...(name === 'cp-c' ? {} : { drain: 'now' }) } },
    status: { conditions: [{ type: 'Ready', status: 'True' as const }] },
  }));
  const pods = nodes.map(({ metadata: { name } }): Pod => {
    const metadata = { name: `pod-${name}`, namespace: 'n', uid: `uid-pod-${name}` };
    return { metadata, spec: { nodeName: name, priority: 0 } };
  });

  it('the member waits and says why, while the others are drained, until the maintenance is forced', () => {
    const matchExpressions = [{ key: 'drain', operator: 'Exists' }];
    const begun = { drainPlanPosition: 1, drainStartTime: '2026-01-01T00:00:00Z' };
    const drain: NodeMaintenance = {
      metadata: { name: 'm' },
      spec: { stage: 'Drain', nodeSelector: { nodeSelectorTerms: [{ matchExpressions }] } },
      status: { nodeStatuses: [{ nodeRef: { name: 'cp-a', uid: 'uid-cp-a' }, ...begun }] },
    };
    const observe = (each: NodeMaintenance): ReturnType<DrainObserver['observe']> =>
      new DrainObserver(contextOf({ maintenances: [each], pods, nodes })).observe(each, NOW);
    const evicting = ({ resolution }: DrainObservation): readonly string[] =>
      resolution?.nodes.flatMap((node) => node.evicting.map(({ name }) => name)) ?? [];
    const observed = observe(drain);
    assert.deepEqual(evicting(observed), ['pod-cp-a']);
    const { status } = observed;
    const second = status.nodeStatuses?.find(({ nodeRef }) => nodeRef.name === 'cp-b');
    assert.match(second?.drainMessage ?? '', /^Throttled: draining cp-b leaves 1 of 3 members/);
    assert.equal(second?.podsPendingEvacuation, 1);
    const annotations = { 'nodemaintenance.x-k8s.io/force': 'true' };
    assert.equal(evicting(observe({ ...drain, metadata: { name: 'm', annotations } })).length, 2);
  });
});

describe('a maintenance', () => {
  it('a maintenance is settled before it begins and after it has let go of all, and not between', () => {
    const held = { finalizers: ['nodemaintenance.k8s.io/maintenance-completion'] };
    const complete = maintenance(undefined, 'Complete');
    assert.equal(isSettled(maintenance(undefined, 'Idle')), true);
    assert.equal(isSettled(maintenance(undefined, 'Drain')), false);
    assert.equal(isSettled({ ...complete, metadata: { ...complete.metadata, ...held } }), false);
    assert.equal(isSettled(complete), true);
  });
});

describe('a member of the control plane whose drain has begun', () => {
  const member = (name: string, status: 'True' | 'Unknown') => ({
    metadata: { name, uid: `uid-${name}`, labels: { 'node-role.kubernetes.io/control-plane': '' } },
    status: { conditions: [{ type: 'Ready', status }] },
  });
  const etcd: Pod = {
    metadata: { name: 'etcd-cp-a', namespace: 'kube-system', uid: 'e', annotations: { [MIRROR_ANNOTATION]: 'h' } },
    spec: { nodeName: 'cp-a', priority: 2_000_001_000 },
  };
  const begun = {
    nodeRef: { name: 'cp-a' },
    drainStartTime: rfc3339(NOW),
    podsPendingEvacuation: 1,
    podsEvacuating: 0,
  };
  const drain = { ...drainOf('m', ['cp-a']), status: { nodeStatuses: [begun] } };
  /** The types of pods that the node is asked to end, and what the drain waits for. */
  const observe = (other: 'True' | 'Unknown', each: NodeMaintenance = drain): readonly unknown[] => {
    const nodes = [member('cp-a', 'True'), member('cp-b', other), member('cp-c', 'True')];
    const cluster = contextOf({ maintenances: [each], pods: [etcd], nodes });
    const { status } = new DrainObserver(cluster).observe(each, NOW);
    const types = status.nodeStatuses?.[0]?.drainTargets?.map(({ podType }) => podType);
    const drained = status.conditions?.find(({ type }) => type === 'Drained');
    return [types, drained?.reason, drained?.message];
  };

  it('its static pods stay while another member is away, and leave when that is back or the drain is forced', () => {
    assert.deepEqual(observe('True').slice(0, 2), [['Default', 'DaemonSet', 'Static'], 'Draining']);
    const [types, reason, message] = observe('Unknown');
    assert.deepEqual([types, reason], [['Default', 'DaemonSet'], 'WaitingForControlPlane']);
    assert.match(String(message), /draining cp-a leaves 1 of 3 members .*cp-b: node not Ready/);
    const annotations = { 'nodemaintenance.x-k8s.io/force': 'true' };
    const forced = { ...drain, metadata: { ...drain.metadata, annotations } };
    assert.deepEqual(observe('Unknown', forced).slice(0, 2), [['Default', 'DaemonSet', 'Static'], 'Draining']);
  });
});

describe('the drain of a node with a static pod', () => {
  const web: Pod = { metadata: { name: 'web', namespace: 'n', uid: 'w' }, spec: { nodeName: 'one', priority: 0 } };
  const etcd: Pod = {
    metadata: { name: 'etcd', namespace: 'n', uid: 'e', annotations: { [MIRROR_ANNOTATION]: 'hash' } },
    spec: { nodeName: 'one', priority: 2_000_001_000 },
  };
  it('a node without an agent is said at once to have nobody who ends it, and nobody says when the drain ends', () => {
    const nodes = [{ metadata: { name: 'one', uid: 'uid-one' } }];
    const context = contextOf({ maintenances: [maintenance(undefined)], pods: [web, etcd], nodes });
    const { status } = new DrainObserver(context).observe(maintenance(undefined), NOW);
    const [node] = status.nodeStatuses ?? [];
    const [first, ...more] = node?.podsBlocking ?? [];
    assert.deepEqual([first?.name, first?.reason, more], ['etcd', 'NoAgent', []]);
    const text = first?.message ?? '';
    assert.match(text, /^no agent has reported from node one, and only an agent ends static pods: start/);
    assert.equal(node?.expectedFinishTime, undefined);
  });

  for (const [what, carriers, is, named] of [
    [
      'is kept, and named, where an agent, also one that is away, said that it carries the way',
      ['n/etcd'],
      'True',
      /: n\/etcd/,
    ],
    ['is waited for where an older agent says nothing of it', undefined, 'False', /./],
  ] as const)
    it(`it ${what}`, () => {
      const annotations = {
        [AGENT_STATUS_ANNOTATION]: JSON.stringify({ ...AGENT, at: '2025-01-01T00:00:00Z', carriers }),
      };
      const nodes = [{ metadata: { name: 'one', uid: 'uid-one', annotations } }];
      const context = contextOf({ maintenances: [maintenance(undefined)], pods: [etcd], nodes });
      const { conditions } = new DrainObserver(context).observe(maintenance(undefined), NOW).status;
      const drained = conditions?.find(({ type }) => type === DRAINED);
      assert.equal(drained?.status, is);
      assert.match(drained.message ?? '', named);
    });
});

/** Whether the controller says that budgets are not asked on n1, which goes down, beside other machines. */
function saidOf(own: string, others: Readonly<Record<string, string>>): boolean {
  const clock = createSteppingClock();
  const nodes = ['n1', ...Object.keys(others)].map(
    (name): Node => ({ metadata: { name }, status: { conditions: [{ type: 'Ready', status: 'True' }] } }),
  );
  const shutdown = (node: string, kind: string): NodeMaintenance => ({
    ...ownMaintenanceOf(node, {
      ...(kind === 'person' ? { labels: {} } : {}),
      annotations: kind === '' ? {} : { [SHUTDOWN_KIND_ANNOTATION]: kind },
    }),
    status: { nodeStatuses: [{ nodeRef: { name: node }, drainStartTime: rfc3339(clock.now()) }] },
  });
  const going = Object.entries(others).filter(([, kind]) => kind !== 'stays');
  const maintenances = [shutdown('n1', own), ...going.map(([node, kind]) => shutdown(node, kind))];
  const options = { maxParallelReboots: parseRebootLimit('100%'), maxVolumeTime: 0 };
  const context = { clock, options, ungated: { on: () => [] }, ...indexesOf({ nodes, maintenances }, clock) };
  const [first] = maintenances;
  const observed = new DrainObserver(context as unknown as ControllerContext).observe(
    first ?? assert.fail(),
    clock.now(),
  );
  return observed.status.nodeStatuses?.[0]?.budgetsNotAsked === true;
}

describe('the budgets of pods of a machine that goes down', () => {
  const cases: readonly [string, string, Readonly<Record<string, string>>, boolean][] = [
    ['the only node is switched off', 'poweroff', {}, true],
    ['the only node reboots', 'reboot', {}, true],
    ['all are switched off together', 'poweroff', { n2: 'poweroff', n3: 'halt' }, true],
    ['one of them reboots', 'poweroff', { n2: 'poweroff', n3: 'reboot' }, false],
    ['how one of them goes down is not known', 'poweroff', { n2: 'poweroff', n3: '' }, false],
    ['another one stays', 'reboot', { n2: 'poweroff', n3: 'stays' }, false],
    ['another one is only drained by a person', 'poweroff', { n2: 'person' }, false],
  ];
  for (const [what, own, others, isNotAsked] of cases) {
    it(`budgets are ${isNotAsked ? 'not ' : ''}asked where ${what}`, () => {
      assert.equal(saidOf(own, others), isNotAsked);
    });
  }

  it('budgets are asked for a drain of a person, on the only node, too', () => {
    assert.equal(saidOf('person', {}), false);
  });
});
