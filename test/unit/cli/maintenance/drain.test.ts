import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Pod, PodDisruptionBudget } from '../../../../src/api/pod.ts';
import { parseNodes, parseTarget } from '../../../../src/cli/cluster.ts';
import { createDrainChanges } from '../../../../src/cli/follow/maintenance/changes.ts';
import { drainFrame } from '../../../../src/cli/follow/maintenance/frame.ts';
import { progressBar } from '../../../../src/cli/terminal/progress-bar.ts';
import { parseDrainPlan } from '../../../../src/cli/maintenance/plan-file.ts';
import {
  type Finding,
  previewDrain,
  type PreviewDaemonSet,
  type PreviewFacts,
} from '../../../../src/decide/view/drain-preview.ts';
import { drainView, type DrainView } from '../../../../src/decide/view/drain-progress.ts';
import { decideMaintenanceStep, maintenanceNames, selectorOfNodes } from '../../../../src/decide/drain/draft.ts';

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

function maintenance(name: string, spec: Partial<NodeMaintenance['spec']>, meta: object = {}): NodeMaintenance {
  return { metadata: { name, uid: `uid-${name}`, ...meta }, spec: { nodeSelector: selectorOfNodes(['n']), ...spec } };
}

describe('the preview of a drain', () => {
  it('a DaemonSet that cannot be gated is named, with the reason', () => {
    const pods = [pod('log', { metadata: owned('DaemonSet') })];
    assert.deepEqual(findings({ pods }), []);
    const [missing] = findings({ pods, isGateInstalled: false });
    assert.match(missing?.message ?? '', /DaemonSet set cannot be gated because the policy is not installed/);
    assert.deepEqual(findings({ pods, isGateInstalled: undefined }), [], 'what cannot be read is not claimed');
    const set: PreviewDaemonSet = {
      metadata: { name: 'set', uid: 'uid-set' },
      spec: { template: { spec: { nodeName: 'n' } } },
    };
    const [bound] = findings({ pods, daemonSets: [set] });
    assert.deepEqual(bound?.level, 'blocks');
    const [foreign] = findings({ pods: [pod('k', { metadata: owned('DaemonSet', 'apps.kruise.io/v1alpha1') })] });
    assert.match(foreign?.message ?? '', /is drained as a Default pod, and may come back/);
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
    assert.deepEqual(
      result.findings.map(({ level }) => level),
      ['blocks', 'note'],
    );
  });
});

describe('the maintenance that a command means', () => {
  const wish = { nodes: ['n'], stage: 'Drain' } as const;

  it('the maintenance of the same nodes is moved on, never back, and not that of the agent', () => {
    const cordon = maintenance('m', { stage: 'Cordon' });
    assert.deepEqual(decideMaintenanceStep(wish, [cordon]), {
      kind: 'change',
      known: cordon,
      change: { spec: { stage: 'Drain' } },
    });
    const forced = { annotations: { 'nodemaintenance.x-k8s.io/force': 'true' } };
    const change = decideMaintenanceStep({ ...wish, stage: 'Cordon', force: true }, [cordon]);
    assert.deepEqual(change, { kind: 'change', known: cordon, change: forced });
    const already = decideMaintenanceStep({ ...wish, stage: 'Cordon', force: true }, [
      maintenance('m', { stage: 'Cordon' }, forced),
    ]);
    assert.equal(already.kind, 'already');
    const drain = maintenance('m', { stage: 'Drain' });
    assert.equal(decideMaintenanceStep({ ...wish, stage: 'Cordon' }, [drain]).kind, 'already');
    const agent = maintenance('m', { stage: 'Drain' }, { labels: { 'nodemaintenance.x-k8s.io/agent': 'n' } });
    assert.equal(decideMaintenanceStep(wish, [agent]).kind, 'create');
    const deleted = maintenance('m', { stage: 'Drain' }, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    assert.equal(decideMaintenanceStep(wish, [deleted]).kind, 'create');
    const more = maintenance('m', { stage: 'Drain', nodeSelector: selectorOfNodes(['n', 'o']) });
    assert.equal(decideMaintenanceStep(wish, [more]).kind, 'create');
  });

  it('another plan is refused, because a plan cannot be changed; the injected entries do not count', () => {
    const entry = { podType: 'Default', podPriority: 5 } as const;
    const drain = maintenance('m', {
      stage: 'Drain',
      drainPlan: [entry, { podType: 'Default', podPriority: 1_000_000_000 }],
    });
    assert.equal(decideMaintenanceStep({ ...wish, plan: [entry] }, [drain]).kind, 'already');
    assert.equal(decideMaintenanceStep({ ...wish, plan: [{ ...entry, podPriority: 6 }] }, [drain]).kind, 'refused');
  });

  it('names are the same for the same nodes, however many and however long they are', () => {
    assert.equal(maintenanceNames(['a', 'b'])[0], 'maintenance-a-b');
    const long = Array.from({ length: 40 }, (_, index) => `node-${index}.${'x'.repeat(240)}`);
    for (const name of maintenanceNames(long).slice(0, 3)) assert.ok(name.length <= 253, name);
    assert.equal(maintenanceNames(['a', 'b'])[1], 'maintenance-a-b-2');
  });

  it('names of nodes are taken as kubectl takes them', () => {
    assert.deepEqual(parseNodes(['node/b', 'a', 'nodes/b', 'no/a']), ['a', 'b']);
    assert.deepEqual(parseTarget('nm/x'), { kind: 'maintenance', name: 'x' });
    for (const bad of ['', 'a b', '-a', 'pod/a', 'node/', 'A', '../x'])
      assert.throws(() => parseTarget(bad), { code: 'USAGE' });
    assert.throws(() => parseNodes(['nm/a']), { code: 'USAGE' });
  });
});

describe('a drain plan in a file', () => {
  it('a drain plan is taken as a list, an object, a NodeMaintenance, or a KubeletConfiguration', () => {
    const entries = '[{"podType": "Default", "podPriority": 5}]';
    for (const text of [
      entries,
      `{"drainPlan": ${entries}}`,
      `{"kind": "NodeMaintenance", "spec": {"drainPlan": ${entries}}}`,
    ]) {
      assert.deepEqual(parseDrainPlan(text, 'f'), [{ podType: 'Default', podPriority: 5 }]);
    }
    const kubelet = '{kind: KubeletConfiguration, shutdownGracePeriodByPodPriority: [{priority: 0}, {priority: 10}]}';
    assert.deepEqual(parseDrainPlan(kubelet, 'f')[0], { podType: 'Default', podPriority: 9 });
  });

  it('the refusal of a plan names the entry', () => {
    const cases: readonly (readonly [string, RegExp])[] = [
      ['', /has no drainPlan/],
      ['{', /neither YAML nor JSON/],
      ['spec: {}', /has no drainPlan/],
      ['[{podType: Pods, podPriority: 1}]', /entry 1, podType/],
      ['[{podType: Default, podPriority: 3000000000}]', /entry 1, podPriority/],
      ['[{podType: Default, podPriority: 1}, {podType: Default, podPriority: 1}]', /entry 2 is there twice/],
      [
        '[{podType: Default, podPriority: 2}, {podType: Default, podPriority: 1}]',
        /entry 2 .* must come before entry 1/,
      ],
    ];
    for (const [text, pattern] of cases) assert.throws(() => parseDrainPlan(text, 'f'), pattern);
  });
});

describe('the view of a drain', () => {
  const targets = [{ podType: 'Default', podPriority: 1_000_000_000 }] as const;
  const view = (pods: readonly Pod[], seen: Parameters<typeof drainView>[0]['seen'] = new Map()): DrainView => {
    const nodeStatuses = [
      { nodeRef: { name: 'n' }, drainTargets: targets, drainMessage: 'Evacuating', podsAtStart: 5 },
    ];
    const drain = { ...maintenance('m', { stage: 'Drain' }), status: { nodeStatuses } };
    return drainView({ maintenance: drain, nodes: ['n'], pods, requestOf: () => undefined, seen }, 0);
  };
  const low = pod('low');
  const high = pod('high', { spec: { nodeName: 'n', priority: 2_000_000_000 } });

  it('pods that left are counted in their tier and, from before the look, on the node', () => {
    const seen = new Map(
      [low, high].map((each) => [
        each.metadata.uid ?? '',
        {
          namespace: 'default',
          name: each.metadata.name,
          uid: each.metadata.uid ?? '',
          podType: 'Default' as const,
          priority: each.spec.priority ?? 0,
          labels: {},
          node: 'n',
        },
      ]),
    );
    const [node] = view([high], seen).nodes;
    assert.deepEqual(
      node?.tiers.map(({ state, gone, total }) => [state, gone, total]),
      [
        ['done', 1, 1],
        ['waiting', 0, 1],
      ],
    );
    assert.deepEqual([node?.gone, node?.total], [4, 5]);
  });

  it('a frame fits the terminal, and the words of others cannot move its cursor', () => {
    const evil = maintenance('m', { stage: 'Drain', reason: 'a\u001B[2Jb\nc' });
    const facts = { maintenance: evil, nodes: ['n'], pods: [low, high], requestOf: () => undefined, seen: new Map() };
    const lines = drainFrame(drainView(facts, 0), 'lost', { columns: 30, rows: 4 }, 0);
    assert.ok(lines.length <= 4);
    for (const { text } of lines) {
      assert.ok(text.length <= 30, text);
      assert.doesNotMatch(text, /\p{Cc}/u);
    }
    assert.match(progressBar(1, 2), /^#{12}\.{12} 1\/2$/);
    assert.match(progressBar(0, 0), /0\/0$/);
  });

  it('each change is told once, and nothing is told of pods that are not reached', () => {
    const changes = createDrainChanges();
    const first = changes.next(view([low, high]));
    assert.ok(first.includes('node/n evicting pod default/low'));
    assert.ok(!first.some((line) => line.includes('default/high')));
    assert.deepEqual(changes.next(view([low, high])), []);
    assert.deepEqual(changes.next(view([high]))[0], 'node/n pod/low evicted (namespace default), 4/5 gone');
  });
});
