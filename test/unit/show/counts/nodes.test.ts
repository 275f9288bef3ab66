import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeObject } from '../../../../src/api/meta.ts';
import { AGENT_STATUS_ANNOTATION } from '../../../../src/api/names.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { countNodes } from '../../../../src/show/counts/nodes.ts';
import { type Presence, presenceText } from '../../../../src/decide/presence/presence.ts';
import { createControllerMetrics } from '../../../../src/telemetry/controller-metrics.ts';
import { presenceAt } from '../../../support/agent/presence.ts';
import { NO_COUNTS } from '../../../support/stand-ins/memory-cluster.ts';

const NOW = Date.UTC(2026, 0, 2);
const MINUTE = 60_000;

function nodeOf(said: Partial<Presence> | undefined, labels: Record<string, string> = {}): KubeObject {
  const at = rfc3339(NOW);
  const text = presenceText(presenceAt(at, said), at);
  const annotations = said === undefined ? {} : { [AGENT_STATUS_ANNOTATION]: text };
  return { metadata: { name: 'n', annotations, labels } };
}

const NODES = [
  nodeOf({}),
  nodeOf({ doctor: 'fail', checks: ['kubelet shutdown'] }),
  nodeOf(undefined),
  nodeOf({ version: '0.0.9' }),
  nodeOf(undefined, { 'kubernetes.io/os': 'windows' }),
  nodeOf({ last: { result: 'forced', at: rfc3339(NOW - 59 * MINUTE) } }),
  nodeOf({ last: { result: 'undrained', at: rfc3339(NOW - 61 * MINUTE) } }),
  nodeOf({ last: { result: 'drained', at: 'never' } }),
];

describe('what the controller counts of nodes', () => {
  it('each node is counted in its state, and a state without nodes is 0', () => {
    assert.deepEqual(Object.fromEntries(countNodes(NODES, '0.1.0', NOW).states), {
      guarded: 4,
      unguarded: 2,
      outdated: 1,
      'going-down': 0,
      back: 0,
      exempt: 1,
    });
  });

  it('a shutdown is counted by its result for an hour after its end', () => {
    const { shutDown } = countNodes(NODES, '0.1.0', NOW);
    assert.deepEqual(Object.fromEntries(shutDown), { drained: 0, forced: 1, undrained: 0, canceled: 0 });
  });

  it('the metrics have both, with no agent that serves metrics of its own', async () => {
    const metrics = createControllerMetrics(() => ({ ...NO_COUNTS, nodes: countNodes(NODES, '0.1.0', NOW) }));
    const lines = (await metrics.text()).split('\n');
    for (const line of [
      'nodemaint_nodes{state="unguarded"} 2',
      'nodemaint_nodes{state="guarded"} 4',
      'nodemaint_nodes_shut_down{result="forced"} 1',
    ]) {
      assert.ok(lines.includes(line), line);
    }
  });
});
