import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../../src/api/pod.ts';
import { createDrainChanges } from '../../../../../src/cli/follow/maintenance/changes.ts';
import { drainFrame } from '../../../../../src/cli/follow/maintenance/frame.ts';
import { progressBar } from '../../../../../src/cli/terminal/progress-bar.ts';
import { selectorOfNodes } from '../../../../../src/decide/drain/draft.ts';
import { drainView, type DrainView } from '../../../../../src/decide/view/drain-progress.ts';

function pod(name: string, extra: { metadata?: object; spec?: object } = {}): Pod {
  const metadata = { name, namespace: 'default', uid: `uid-${name}`, labels: { app: name }, ...extra.metadata };
  return { metadata, spec: { nodeName: 'n', ...extra.spec }, status: { phase: 'Running' } };
}

function maintenance(name: string, spec: Partial<NodeMaintenance['spec']>, meta: object = {}): NodeMaintenance {
  return { metadata: { name, uid: `uid-${name}`, ...meta }, spec: { nodeSelector: selectorOfNodes(['n']), ...spec } };
}

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
