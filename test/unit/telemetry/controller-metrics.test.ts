import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../../src/api/node-maintenance.ts';
import { countMaintenances } from '../../../src/show/counts/maintenances.ts';
import { countNodes } from '../../../src/show/counts/nodes.ts';
import { countEvictions } from '../../../src/show/counts/evictions.ts';
import { createControllerMetrics } from '../../../src/telemetry/controller-metrics.ts';
import { drainOf, maintenanceOf } from '../../support/maintenance/objects.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');
const BLOCKED_SINCE = '2026-01-01T23:50:00Z';

function draining(name: string, is: 'True' | 'False', reason: string, hours: number): NodeMaintenance {
  const startTimestamp = new Date(NOW - hours * 3_600_000).toISOString();
  const status: NodeMaintenanceStatus = {
    stageStatuses: [{ name: 'Drain', startTimestamp }],
    nodeStatuses: [
      {
        nodeRef: { name: 'one' },
        podsPendingEvacuation: 3,
        podsEvacuating: 2,
        podsBlocking: [{ namespace: 'n', name: 'p', reason: 'PodDisruptionBudget', message: '', since: BLOCKED_SINCE }],
      },
    ],
    summary: { nodes: 'one', podsPendingEvacuation: 3, podsEvacuating: 2 },
    conditions: [{ type: 'Drained', status: is, reason, message: '', lastTransitionTime: '' }],
  };
  return { ...drainOf(name, ['one']), status };
}

async function textOf(maintenances: readonly NodeMaintenance[]): Promise<readonly string[]> {
  const metrics = createControllerMetrics(() => {
    const nodes = countNodes([], '0.1.0', NOW);
    return { ...countEvictions([], [], []), maintenances: countMaintenances(maintenances, NOW), nodes };
  });
  metrics.drained.observe(120);
  return (await metrics.text()).split('\n').filter((line) => line.startsWith('nodemaintenance_controller_'));
}

describe('the metrics of maintenances', () => {
  it('the metrics count stages, drains, pods and what blocks, and have the age of drains that are not over', async () => {
    const lines = await textOf([
      maintenanceOf({ stage: 'Cordon' }),
      draining('long', 'False', 'Draining', 24),
      draining('held', 'False', 'Waiting', 1),
      draining('over', 'True', 'DrainCompleted', 2),
    ]);
    for (const line of [
      'nodemaintenance_controller_maintenances{stage="Idle"} 0',
      'nodemaintenance_controller_maintenances{stage="Drain"} 3',
      'nodemaintenance_controller_drains{state="waiting"} 1',
      'nodemaintenance_controller_drains{state="draining"} 1',
      'nodemaintenance_controller_drains{state="drained"} 1',
      'nodemaintenance_controller_pods{state="pending"} 9',
      'nodemaintenance_controller_blocking_pods{reason="PodDisruptionBudget"} 3',
      'nodemaintenance_controller_drain_age_seconds{maintenance="long"} 86400',
      'nodemaintenance_controller_blocked_seconds{maintenance="held"} 600',
      'nodemaintenance_controller_drain_duration_seconds_bucket{le="300"} 1',
    ]) {
      assert.ok(lines.includes(line), `${line} is not in\n${lines.join('\n')}`);
    }
    const aged = lines.filter((line) => line.includes('drain_age_seconds{'));
    assert.equal(aged.length, 1, 'one that waits for its turn, or is through, has no age');
  });

  it('the metrics have the age of at most 100 drains, the oldest', async () => {
    const many = Array.from({ length: 150 }, (_, index) => draining(`m-${index}`, 'False', 'Draining', index));
    const ages = (await textOf(many)).filter((line) => line.includes('drain_age_seconds{'));
    assert.equal(ages.length, 100);
    assert.ok(ages.some((line) => line.includes('"m-149"')));
  });
});

describe('the metrics of evictions', () => {
  it('the metrics of evictions have the names of both KEPs', async () => {
    const one = new Map([['a.example.com', 1]]);
    const counts = { active: one, processed: one, requesters: one, podInterceptors: one, inBackground: 2 };
    const nodes = countNodes([], '0.1.0', NOW);
    const metrics = createControllerMetrics(() => ({ ...counts, maintenances: countMaintenances([], NOW), nodes }));
    metrics.attempts.inc({ outcome: 'blocked' });
    metrics.begun.inc();
    metrics.queue('evictionrequests').added();
    const text = await metrics.text();
    for (const name of ['active_interceptor', 'processed_interceptor', 'active_requester', 'pod_interceptors']) {
      assert.match(text, new RegExp(`^evictionrequest_controller_${name}{\\w+="a.example.com"} 1$`, 'm'));
    }
    assert.match(text, /^evictionrequest_controller_imperative_evictions_total{outcome="blocked"} 1$/m);
    assert.match(text, /^pod_evacuations_total 1$/m);
    assert.match(text, /^pod_evacuations_in_progress 2$/m);
    assert.match(text, /^workqueue_adds_total{name="evictionrequests"} 1$/m);
  });
});
