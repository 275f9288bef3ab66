import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../../src/api/pod.ts';
import { createDrainChanges } from '../../../../../src/cli/follow/maintenance/change-lines.ts';
import { drainLines } from '../../../../../src/cli/follow/maintenance/drain-text.ts';
import { selectorOfNodes } from '../../../../../src/decide/maintenance/new-maintenance.ts';
import { drainView, type DrainView } from '../../../../../src/show/progress/drain-progress.ts';

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
      {
        nodeRef: { name: 'n' },
        drainTargets: targets,
        drainMessage: 'Evacuating',
        podsAtStart: 5,
        drainPlanPosition: 1,
      },
    ];
    const drain = { ...maintenance('m', { stage: 'Drain' }), status: { nodeStatuses } };
    return drainView({ maintenance: drain, nodes: ['n'], pods, requestOf: () => undefined, seen }, 0);
  };
  const low = pod('low');
  const high = pod('high', { spec: { nodeName: 'n', priority: 2_000_000_000 } });

  it('the first line, and the log, say who asked for the maintenance', () => {
    const annotations = { 'nodemaintenance.x-k8s.io/requested-by': `ali\u001B[2Jce${'x'.repeat(1000)}` };
    const asked = maintenance('m', { stage: 'Drain', reason: 'kernel' }, { annotations });
    const facts = { maintenance: asked, nodes: ['n'], pods: [], requestOf: () => undefined, seen: new Map() };
    const drain = drainView(facts, 0);
    const user = `ali [2Jce${'x'.repeat(247)}`;
    const found = drainLines(drain, 1000, 0)[0]?.text;
    assert.equal(found, `nodemaintenance/m  Drain, asked for by ${user}: kernel`);
    assert.equal(createDrainChanges().next(drain)[0], `nodemaintenance/m Drain, asked for by ${user}: kernel`);
  });

  it('a drain that waits for its turn on a node without pods has no full bar', () => {
    const drainMessage = 'Waiting for other maintenances, x: at most 1 node is drained at once.';
    const status = { nodeStatuses: [{ nodeRef: { name: 'n' }, drainMessage }] };
    const drain = { ...maintenance('m', { stage: 'Drain' }), status };
    const facts = { maintenance: drain, nodes: ['n'], pods: [], requestOf: () => undefined, seen: new Map() };
    const lines = drainLines(drainView(facts, 0), 200, 0);
    const found = lines.slice(1).map(({ text }) => text.trim());
    assert.deepEqual(found, ['node/n  no pods to drain', drainMessage]);
  });

  it('the lines fit the terminal, and the words of others cannot move its cursor', () => {
    const evil = maintenance('m', { stage: 'Drain', reason: 'a\u001B[2Jb\nc' });
    const facts = { maintenance: evil, nodes: ['n'], pods: [low, high], requestOf: () => undefined, seen: new Map() };
    const lines = drainLines(drainView(facts, 0), 40, 0);
    for (const { text } of lines) {
      assert.ok(text.length <= 40, text);
      assert.doesNotMatch(text, /\p{Cc}/u);
    }
  });

  it('each change is told once, and nothing is told of pods that are not reached', () => {
    const changes = createDrainChanges();
    const first = changes.next(view([low, high]));
    assert.ok(first.includes('node/n evicting pod default/low'));
    assert.ok(!first.some((line) => line.includes('default/high')));
    assert.deepEqual(changes.next(view([low, high])), []);
    assert.deepEqual(changes.next(view([high]))[0], 'node/n pod/low evicted (namespace default), 4/5 gone');
  });

  const BUDGET =
    'Could not evict a pod due to failing eviction requests, number of retries: 3. Blocked by PodDisruptionBudget p0, which needs 100 healthy pods and has 4.';
  const blockedView = (count: number, extra: object = {}): DrainView => {
    const pods = Array.from({ length: count }, (_, index) => pod(`web-${index}`));
    const podsBlocking = pods.slice(0, 4).map(({ metadata: { name } }) => {
      const since = '1970-01-01T00:00:00Z';
      return { namespace: 'default', name, reason: 'PodDisruptionBudget' as const, message: BUDGET, since };
    });
    const expectedFinishTime = '1970-01-01T00:03:00Z';
    const node = { nodeRef: { name: 'n' }, drainTargets: targets, drainPlanPosition: 1, expectedFinishTime };
    const nodeStatuses = [{ ...node, podsAtStart: 2 * count, podsBlocking, ...extra }];
    const summary = { nodes: 'n', leftOut: 'The status has no room for everything.' };
    const drain = { ...maintenance('m', { stage: 'Drain' }), status: { nodeStatuses, summary } };
    return drainView({ maintenance: drain, nodes: ['n'], pods, requestOf: () => undefined, seen: new Map() }, 120_000);
  };
  const SENTENCE = '4 pods wait for PodDisruptionBudget p0, which needs 100 healthy pods and has 4';

  for (const columns of [80, 200]) {
    for (const count of [5, 300]) {
      it(`the lines of ${columns} columns and ${count} pods name once what blocks four of them, in whole words`, () => {
        const lines = drainLines(blockedView(count), columns, 120_000).map(({ text }) => text);
        const text = lines.join('\n').replaceAll(/\n\s+/g, ' ');
        assert.equal(text.split(SENTENCE).length, 2, lines.join('\n'));
        assert.match(text, /web-0, web-1, web-2, web-3/);
        assert.match(text, new RegExp(`50%, ${count} of ${2 * count} pods gone, blocked`));
        assert.match(text, /The status has no room for everything\./);
        assert.doesNotMatch(text, /done in about/);
        assert.ok(lines.every((line) => line.length <= columns) && lines.length <= 24);
      });
    }
  }

  it('a log has one line for a cause, and one when it is over', () => {
    const changes = createDrainChanges();
    const first = changes.next(blockedView(5)).filter((line) => line.includes('PodDisruptionBudget'));
    assert.deepEqual(first, [`node/n ${SENTENCE}: default/web-0, default/web-1, default/web-2, default/web-3`]);
    assert.deepEqual(changes.next(blockedView(5)), []);
    const last = changes.next(blockedView(5, { podsBlocking: [] }));
    assert.ok(last.includes(`node/n no longer: ${SENTENCE}`), last.join('\n'));
  });
});
