import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { ROWS } from '../../../.ci/mixin/panels.ts';
import { dashboardText, rulesText } from '../../../.ci/mixin/texts.ts';
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
    const found = [...(await servedMetrics())].filter((name) => !page.includes(`\`${name}\``));
    assert.deepEqual(found, []);
  });

  it('no panel of the dashboard has a line for each node, however many there are', async () => {
    for (const { title, expression } of await dashboardQueries()) {
      assert.match(expression, /^(?:\d+ \* )?(?:sum|max|min|count|histogram_quantile)\b/, title);
      const isFew = / and on \(\w+\) topk\(10, /.test(expression);
      if (!isFew) assert.doesNotMatch(expression, /\bby \([^)]*\b(?:instance|node|pod|maintenance)\b/, title);
    }
  });

  it('the rules and the dashboard are what is made from their configuration', async () => {
    for (const [file, text] of [
      ['rules.yaml', rulesText()],
      ['dashboard.json', dashboardText()],
    ] as const) {
      assert.equal(await readFile(path.join(MONITORING, file), 'utf8'), text, `run .ci/mixin/write.ts for ${file}`);
    }
  });

  it('each panel says what it shows, and goes by the clusters that are chosen', async () => {
    const { panels } = JSON.parse(dashboardText()) as {
      panels: readonly { type: string; title: string; description?: string; targets?: { expr: string }[] }[];
    };
    const shown = panels.filter(({ type }) => type !== 'row');
    assert.ok(shown.length > 25);
    for (const { title, description, targets = [], ...more } of shown) {
      assert.ok((description ?? '').length > 10, title);
      const colours = [...JSON.stringify(more).matchAll(/"fixedColor":"([\w-]+)"/g)].map(([, colour]) => colour);
      assert.equal(new Set(colours).size, colours.length, `${title}: two words have one colour`);
      for (const { expr } of targets) assert.ok(expr.includes('cluster=~"$cluster"'), title);
    }
    assert.equal(new Set(shown.map(({ title }) => title)).size, shown.length);
  });

  it('the words that have a colour in a panel are values that its metric has', async () => {
    const texts = [await createAgentMetrics().text(), await createControllerMetrics(() => NO_COUNTS).text()].join('\n');
    const checked = ROWS.flatMap(({ panels }) => panels).filter(({ title, words = [], queries: [[query] = ['']] }) => {
      const [, metric = ''] = /(nodemaint\w+)\{/.exec(query) ?? [];
      const values = [...texts.matchAll(new RegExp(`^${metric}\\{\\w+="([\\w-]+)"`, 'gm'))].map(([, value]) => value);
      assert.ok(values.length === 0 || words.every((word) => values.includes(word)), title);
      return words.length > 0 && values.length > 0;
    });
    assert.ok(checked.length >= 6, String(checked.length));
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
