import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AGENT_STATUS_ANNOTATION } from '../../../../src/api/names.ts';
import type { Pod, PodDisruptionBudget } from '../../../../src/api/pod.ts';
import {
  type Finding,
  isHindered,
  previewDrain,
  type PreviewDaemonSet,
  type PreviewFacts,
} from '../../../../src/show/preview/drain-preview.ts';
import { AGENT } from '../../../support/views/cluster.ts';

const NODE = { metadata: { name: 'n' } };

function pod(name: string, extra: { metadata?: object; spec?: object } = {}): Pod {
  const metadata = { name, namespace: 'default', uid: `uid-${name}`, labels: { app: name }, ...extra.metadata };
  return { metadata, spec: { nodeName: 'n', ...extra.spec }, status: { phase: 'Running' } };
}

function owned(kind: string, apiVersion = 'apps/v1'): object {
  return { ownerReferences: [{ apiVersion, kind, name: 'set', uid: 'uid-set', controller: true }] };
}

function preview(extra: Partial<PreviewFacts>): ReturnType<typeof previewDrain> {
  const nothing = { maintenances: [], pods: [], budgets: [], daemonSets: [], isGateInstalled: true, plan: [] };
  return previewDrain({ node: NODE, ...nothing, ...extra });
}

function findings(extra: Partial<PreviewFacts>): readonly Finding[] {
  return preview(extra).tiers.flatMap((tier) => tier.pods.flatMap((each) => each.findings));
}

describe('the preview of a drain', () => {
  it('a pod that blocks, and one that needs a flag, hinder the drain; a note does not', () => {
    const web = pod('web', { metadata: owned('ReplicaSet') });
    const hinders = (extra: Partial<PreviewFacts>): boolean => isHindered(preview(extra));
    assert.equal(hinders({ pods: [web] }), false);
    assert.equal(hinders({ pods: [web], isGateInstalled: false }), false);
    assert.equal(hinders({ pods: [web, pod('naked')] }), true);
    const scratch = { volumes: [{ name: 's', emptyDir: {} }] };
    assert.equal(hinders({ pods: [pod('db', { metadata: owned('StatefulSet'), spec: scratch })] }), true);
    assert.equal(hinders({ pods: [pod('naked')], keep: ['Unmanaged'] }), false);
    assert.equal(hinders({ pods: [web], controlPlaneHarm: 'the last one' }), true);
  });

  it('a DaemonSet that cannot be gated is named, with the reason', () => {
    const pods = [pod('log', { metadata: owned('DaemonSet') })];
    assert.deepEqual(findings({ pods }), []);
    const [missing] = findings({ pods, isGateInstalled: false });
    assert.match(missing?.message ?? '', /DaemonSet set cannot be gated because the policy is not installed/);
    assert.deepEqual(findings({ pods, isGateInstalled: undefined }), [], 'what cannot be read is not claimed');
    const spec = { template: { spec: { nodeName: 'n' } } };
    const set: PreviewDaemonSet = { metadata: { name: 'set', uid: 'uid-set' }, spec };
    const [bound] = findings({ pods, daemonSets: [set] });
    assert.deepEqual(bound?.level, 'blocks');
    const [foreign] = findings({ pods: [pod('k', { metadata: owned('DaemonSet', 'apps.kruise.io/v1alpha1') })] });
    assert.match(foreign?.message ?? '', /is drained as a Default pod, and may come back/);
  });

  it('static pods of a node without an agent are named, with what to do', () => {
    const mirror = { 'kubernetes.io/config.mirror': 'hash' };
    const pods = [pod('etcd', { metadata: { namespace: 'kube-system', annotations: mirror } }), pod('web')];
    const now = Date.UTC(2026, 0, 1);
    const [found] = preview({ pods, now }).findings;
    assert.equal(found?.level, 'blocks');
    assert.match(
      found.message,
      /^no agent has reported from node n, and it has static pods \(kube-system\/etcd\); only an/,
    );
    assert.match(found.message, /start it there, or move their manifests out of/);
    assert.deepEqual(preview({ pods: [pod('web')], now }).findings, [], 'nothing else needs an agent');
    const url = { 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.source': 'http' };
    const fromUrl = [pod('far', { metadata: { annotations: url } })];
    assert.deepEqual(preview({ pods: fromUrl, now }).findings, [], 'no agent ends these');
  });

  it('a static pod that carries the way to the API server stays, also where its agent is away', () => {
    const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } };
    const pods = [pod('proxy', { metadata: mirror }), pod('other', { metadata: mirror })];
    const now = Date.parse(AGENT.at) + 86_400_000;
    const said = (...carriers: readonly string[]): string => {
      const annotations = { [AGENT_STATUS_ANNOTATION]: JSON.stringify({ ...AGENT, carriers }) };
      const shown = preview({ node: { metadata: { name: 'n', annotations } }, pods, now });
      return [shown.pods, ...shown.findings.map(({ level, message }) => `${level}: ${message}`)].join('; ');
    };
    assert.match(said('default/proxy'), /^1; blocks: .*\(default\/other\).*note: what stays: .*: default\/proxy$/);
    assert.match(said(), /^2; blocks: .*\(2, such as default\/proxy\)/);
  });

  it('a replica of the controller leaves last, and the preview says which budget blocks it and where no other node can take it', () => {
    const labels = { 'app.kubernetes.io/name': 'nodemaint-controller' };
    const replica = pod('c', { metadata: { ...owned('ReplicaSet'), namespace: 'nodemaint-system', labels } });
    const selector = { matchLabels: labels };
    const budget = { metadata: { name: 'b', namespace: 'nodemaint-system' }, spec: { selector } };
    const pods = [replica, pod('critical', { metadata: owned('ReplicaSet'), spec: { priority: 2_000_001_000 } })];
    const { tiers } = preview({ pods, budgets: [budget] });
    const found = tiers.map((tier) => tier.pods.map(({ name }) => name));
    assert.deepEqual(found, [['critical'], ['c']]);
    const said = (others?: PreviewFacts['others']): string =>
      findings({ pods, budgets: [budget], ...(others === undefined ? {} : { others }) })
        .map(({ level, message }) => `${level}: ${message}`)
        .join();
    const held = 'blocks: the PodDisruptionBudget b allows no disruption now';
    const condition = { type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'no scale' };
    const broken = { ...budget, status: { disruptionsAllowed: 0, conditions: [condition] } };
    const [why] = findings({ pods, budgets: [broken] });
    const text = why?.message ?? '';
    assert.match(text, /^the PodDisruptionBudget b cannot be counted \(no scale\); give it minAvailable as a/);
    const last = `${held},note: it is a replica of the nodemaint controller: it leaves as the last Default pod of the node`;
    assert.equal(said(), last);
    const conditions = [{ type: 'Ready', status: 'True' }] as const;
    assert.equal(said([{ metadata: { name: 'm' }, status: { conditions } }]), last);
    const alone = `${last}; no other node can take it, so that agents drain their own nodes when it has left`;
    assert.equal(said([]), alone);
    assert.equal(said([{ metadata: { name: 'm' }, spec: { unschedulable: true }, status: { conditions } }]), alone);
  });

  it('a static pod that the kubelet has from a URL stays, and one from a file does not', () => {
    const mirror = (source: string): object => ({
      annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.source': source },
    });
    const [fromUrl] = findings({ pods: [pod('dns', { metadata: mirror('http') })] });
    assert.deepEqual([fromUrl?.level, /staticPodURL/.test(fromUrl?.message ?? '')], ['note', true]);
    assert.deepEqual(findings({ pods: [pod('dns', { metadata: mirror('file') })] }), []);
  });

  it('a pod that tolerates the cordon may come back, where a controller would make it anew', () => {
    const own = { metadata: owned('ReplicaSet') };
    const key = 'node.kubernetes.io/unschedulable';
    for (const toleration of [{ operator: 'Exists' }, { key, operator: 'Exists', effect: 'NoSchedule' }]) {
      const [first] = findings({ pods: [pod('web', { ...own, spec: { tolerations: [toleration] } })] });
      assert.deepEqual([first?.level, /tolerates the cordon/.test(first?.message ?? '')], ['may block', true]);
    }
    const others = [
      { key: 'node.kubernetes.io/not-ready', operator: 'Exists' },
      { key, value: 'x' },
      { key, effect: 'NoExecute' },
    ];
    assert.deepEqual(findings({ pods: [pod('web', { ...own, spec: { tolerations: others } })] }), []);
  });

  it('a pod of a PodGroup is named, because its interceptors are not asked', () => {
    const spec = { schedulingGroup: { podGroupName: 'train' } };
    const [first] = findings({ pods: [pod('a', { metadata: owned('Job', 'batch/v1'), spec })] });
    assert.match(`${first?.level}: ${first?.message}`, /^note: .*PodGroup: its interceptors are not asked/);
  });

  it('a budget that lets some of its pods go may block, and one that lets all go does not', () => {
    const pods = ['a', 'b'].map((name) => pod(name, { metadata: { ...owned('ReplicaSet'), labels: { app: 'web' } } }));
    const budget = (disruptionsAllowed: number): PodDisruptionBudget => ({
      metadata: { name: 'web', namespace: 'default' },
      spec: { selector: { matchLabels: { app: 'web' } } },
      status: { disruptionsAllowed },
    });
    const levels = [0, 1, 2].map((allowed) => findings({ pods, budgets: [budget(allowed)] }).map(({ level }) => level));
    assert.deepEqual(levels, [['blocks', 'blocks'], ['may block', 'may block'], []]);
    assert.equal(preview({ pods, budgets: [budget(0)] }).blocked, 2);
  });

  it('pods that have ended are left alone, and a node that is not Ready blocks all', () => {
    const ended = { ...pod('done'), status: { phase: 'Succeeded' } };
    const node = { ...NODE, status: { conditions: [{ type: 'Ready', status: 'Unknown' as const }] } };
    const result = preview({ node, pods: [ended] });
    assert.deepEqual([result.pods, result.tiers], [0, []]);
    const levels = result.findings.map(({ level }) => level);
    assert.deepEqual(levels, ['blocks', 'note']);
  });
});
