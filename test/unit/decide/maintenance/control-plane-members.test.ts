import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, NodeCondition, Pod } from '../../../../src/api/pod.ts';
import { AGENT_STATUS_ANNOTATION, MIRROR_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { componentOf, membersOfControlPlane } from '../../../../src/decide/maintenance/control-plane-members.ts';
import { goesDownUncounted, type Presence, presenceText } from '../../../../src/decide/presence/presence.ts';
import { ownMaintenanceOf } from '../../../support/maintenance/objects.ts';
import { presenceAt } from '../../../support/agent/presence.ts';

const OVER = '2026-05-01T12:00:00Z';
const NOW = Date.parse(OVER);
const BOTH = ['etcd', 'kube-apiserver'];

/** A member; `drained` says what is known of its last drain. */
function node(name: string, drained: 'never' | 'now' | 'before' = 'never', ready = true): Node {
  const own = { type: 'MaintenanceInProgress', lastTransitionTime: OVER };
  const conditions = {
    never: [],
    now: [{ ...own, status: 'True', reason: 'NodeMaintenance' }],
    before: [{ ...own, status: 'False', reason: 'MaintenanceComplete' }],
  }[drained] as readonly NodeCondition[];
  return {
    metadata: { name, labels: { 'node-role.kubernetes.io/control-plane': '' } },
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown' }, ...conditions] },
  };
}

function pod(
  component: string,
  more: { readonly ready?: boolean; readonly phase?: string; readonly label?: string } = {},
): Pod {
  const { ready = true, phase = 'Running', label = 'component' } = more;
  return {
    metadata: { name: component, labels: { [label]: component }, annotations: { [MIRROR_ANNOTATION]: 'hash' } },
    spec: {},
    status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  };
}

const KUBEADM = BOTH.map((component) => pod(component));

/** The faults of the members by their names. */
function faults(
  nodes: readonly Node[],
  pods: Readonly<Record<string, readonly Pod[]>>,
  maintenances: readonly NodeMaintenance[] = [],
): Record<string, string> {
  const goesDown = (node: Node): boolean => goesDownUncounted(node, maintenances, NOW);
  const members = membersOfControlPlane(nodes, (name) => pods[name] ?? [], goesDown);
  return Object.fromEntries(members.flatMap(({ name, fault }) => (fault === undefined ? [] : [[name, fault]])));
}

describe('a member of the control plane', () => {
  const others = { b: KUBEADM, c: KUBEADM };
  const three = (a: Node): readonly Node[] => [a, node('b'), node('c')];

  it('a member is at work while its etcd and its kube-apiserver are Ready', () => {
    assert.deepEqual(faults(three(node('a')), { a: KUBEADM, ...others }), {});
    assert.deepEqual(faults(three(node('a', 'before')), { a: KUBEADM, ...others }), {});
  });

  it('a member whose etcd is not Ready is not at work, although its node is Ready', () => {
    const a = [pod('etcd', { ready: false }), pod('kube-apiserver')];
    assert.deepEqual(faults(three(node('a')), { a, ...others }), { a: 'etcd not Ready' });
    const starting = [pod('etcd', { phase: 'Pending' }), pod('kube-apiserver')];
    assert.deepEqual(faults(three(node('a')), { a: starting, ...others }), { a: 'etcd not Ready' });
    const ending = KUBEADM.map((each) => ({ ...each, metadata: { ...each.metadata, deletionTimestamp: OVER } }));
    assert.deepEqual(faults(three(node('a')), { a: ending, ...others }), { a: 'etcd and kube-apiserver not Ready' });
  });

  it('a member whose manifests are still on their way back is not at work, and the text says since when', () => {
    const expected = { a: `etcd and kube-apiserver not Ready since its maintenance was over at ${OVER}` };
    assert.deepEqual(faults(three(node('a', 'before')), others), expected);
    assert.deepEqual(faults(three(node('a', 'now')), others), { a: 'etcd and kube-apiserver not Ready' });
    assert.deepEqual(faults(three(node('a', 'before')), { a: [pod('kube-apiserver')], ...others }), {
      a: `etcd not Ready since its maintenance was over at ${OVER}`,
    });
  });

  it('a member that is not Ready is not at work, whatever its pods say', () => {
    assert.deepEqual(faults(three(node('a', 'never', false)), { a: KUBEADM, ...others }), { a: 'node not Ready' });
  });

  it('a member goes down while its agent says so and has no drain that counts it', () => {
    const fault = { a: 'its agent says that the machine goes down' };
    const [before, hourAgo, yesterday] = ['2026-05-01T11:59:00Z', '2026-05-01T11:00:00Z', '2026-04-30T12:00:00Z'];
    const said = (phase: Presence['phase'], at = before, readyAt = hourAgo): readonly Node[] => {
      const a = node('a');
      const text = presenceText(presenceAt(at, { phase }), at);
      const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: readyAt } as const];
      return three({
        metadata: { ...a.metadata, annotations: { [AGENT_STATUS_ANNOTATION]: text } },
        status: { conditions },
      });
    };
    const pods = { a: KUBEADM, ...others };
    for (const phase of ['waiting', 'draining', 'released'] as const)
      assert.deepEqual(faults(said(phase), pods), fault);
    assert.deepEqual(faults(said('watching'), pods), {}, 'the shutdown was called off');
    assert.deepEqual(faults(said('released', before, OVER), pods), {}, 'the node is back, and its agent silent');
    assert.deepEqual(faults(said('draining', yesterday, yesterday), pods), {}, 'an agent that is silent holds nobody');
    assert.deepEqual(faults(said('draining'), pods, [ownMaintenanceOf('a')]), {}, 'its drain counts it');
    assert.deepEqual(faults(said('draining'), pods, [ownMaintenanceOf('a', {}, { stage: 'Complete' })]), fault);
  });

  it('a control plane without such pods goes by its nodes', () => {
    assert.deepEqual(faults(three(node('a', 'before')), {}), {});
    assert.deepEqual(faults(three(node('a', 'before', false)), {}), { a: 'node not Ready' });
  });

  it('a node that has the label and never had such pods goes by its node', () => {
    assert.deepEqual(faults(three(node('a')), others), {});
  });

  it('a member that runs one component lacks nothing where others run the other one', () => {
    const split = { a: [pod('etcd')], b: [pod('etcd')], c: [pod('kube-apiserver')] };
    assert.deepEqual(faults(three(node('a', 'before')), split), {});
    assert.deepEqual(faults(three(node('a', 'before')), { ...split, a: [] }), {
      a: `etcd or kube-apiserver not Ready since its maintenance was over at ${OVER}`,
    });
  });

  it('a member whose etcd or kube-apiserver is a static pod is told from one without such pods', () => {
    const isStatic = (pods: readonly Pod[]): boolean | undefined =>
      membersOfControlPlane(
        [node('a')],
        () => pods,
        () => false,
      )[0]?.isStatic;
    assert.equal(isStatic(KUBEADM), true);
    assert.equal(isStatic([pod('etcd', { ready: false })]), true);
    assert.equal(isStatic([pod('kube-scheduler')]), false);
    assert.equal(isStatic([]), false);
  });

  it('the components of other distributions are known by their labels', () => {
    const cases = [
      [pod('kube-apiserver', { label: 'k8s-app' }), 'kube-apiserver'],
      [pod('openshift-kube-apiserver', { label: 'app' }), 'kube-apiserver'],
      [pod('etcd-manager-main', { label: 'k8s-app' }), 'etcd'],
      [pod('kube-scheduler'), undefined],
    ] as const;
    for (const [each, component] of cases) assert.equal(componentOf(each), component);
    const etcdOfAnApplication = pod('etcd');
    const { annotations: _, ...metadata } = etcdOfAnApplication.metadata;
    assert.equal(componentOf({ ...etcdOfAnApplication, metadata }), undefined);
  });
});
