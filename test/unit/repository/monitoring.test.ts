import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { createAgentMetrics } from '../../../src/telemetry/agent-metrics.ts';
import { createControllerMetrics } from '../../../src/telemetry/controller-metrics.ts';
import { dashboardQueries, MONITORING, usedMetrics } from '../../support/monitoring.ts';
import { NO_COUNTS } from '../../support/stand-ins/memory-cluster.ts';

const DOCS = path.join(import.meta.dirname, '..', '..', '..', 'docs');

/** The names of all metrics that agents and controllers serve. */
async function servedMetrics(): Promise<ReadonlySet<string>> {
  const controller = createControllerMetrics(() => NO_COUNTS);
  controller.queue('x');
  const texts = [await createAgentMetrics().text(), await controller.text()];
  return new Set([...texts.join('\n').matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? ''));
}

describe('the monitoring', () => {
  it('the rules and the dashboard use only metrics that are served', async () => {
    const served = await servedMetrics();
    const used = await usedMetrics();
    assert.ok(used.size > 20, String(used.size));
    const unknown = [...used].filter((name) => !served.has(name.replace(/_(bucket|count|sum)$/, '')) && name !== 'up');
    assert.deepEqual(unknown, []);
  });

  it('the reference describes every metric that is served', async () => {
    const page = await readFile(path.join(DOCS, 'reference', 'metrics-and-events.md'), 'utf8');
    assert.deepEqual(
      [...(await servedMetrics())].filter((name) => !page.includes(`\`${name}\``)),
      [],
    );
  });

  it('a page says of every reason for which a pod blocks a drain what to do', async () => {
    const source = await readFile(path.join(DOCS, '..', 'src', 'api', 'node-maintenance.ts'), 'utf8');
    const type = /interface BlockingPod \{[\s\S]*?readonly reason:([^;]*);/.exec(source)?.[1] ?? '';
    const reasons = [...type.matchAll(/'(\w+)'/g)].map(([, reason]) => reason ?? '');
    assert.ok(reasons.length > 10 && reasons.includes('NoAgent'), reasons.join());
    const page = await readFile(path.join(DOCS, 'usage', 'troubleshooting.md'), 'utf8');
    assert.deepEqual(
      reasons.filter((reason) => !page.includes(`\n### ${reason}\n`)),
      [],
    );
  });

  it('no panel of the dashboard has a line for each node, however many there are', async () => {
    for (const { title, expression } of await dashboardQueries()) {
      assert.match(expression, /^(60 \* )?(sum|max|min|count|topk|histogram_quantile)\b/, title);
      assert.doesNotMatch(expression, /\bby \([^)]*\b(instance|node|pod)\b/, title);
    }
  });

  it('each alert has a section on the page of its runbook', async () => {
    const page = await readFile(path.join(DOCS, 'usage', 'monitoring.md'), 'utf8');
    const rules = await readFile(path.join(MONITORING, 'rules.yaml'), 'utf8');
    const alerts = [...rules.matchAll(/- alert: (\w+)[\s\S]*?runbook_url: (\S+)/g)];
    assert.ok(alerts.length > 8);
    for (const [, alert = '', runbook] of alerts) {
      assert.equal(runbook, `docs/usage/monitoring.md#${alert.toLowerCase()}`);
      assert.ok(page.includes(`\n### ${alert}\n`), alert);
    }
  });
});
