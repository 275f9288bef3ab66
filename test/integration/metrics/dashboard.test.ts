/** The dashboard with 400 nodes of which five are drained at a time: each panel has few lines. */
import assert from 'node:assert/strict';
import { createWriteStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, it } from 'node:test';
import { fleetMetrics } from '../../prometheus/fleet.ts';
import { promtool, startPrometheus } from '../../prometheus/prometheus.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { dashboardQueries } from '../../support/monitoring.ts';
import { isThorough } from '../../support/thorough.ts';

const SKIP = !isThorough('Prometheus, which is built from its Go module, with the metrics of 400 nodes');
const NODES = 400;
const MINUTES = 120;
/** A reader tells no more lines apart. */
const MOST_LINES = 12;

describe('the dashboard with 400 nodes', { skip: SKIP }, () => {
  it('each query answers with at least one line and at most twelve for an hour in which 25 nodes were drained', async (t) => {
    const { signal } = new AbortController();
    const folder = await makeTestFolder('dashboard');
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const end = Math.floor(Date.now() / 60_000) * 60 - 60;
    const text = path.join(folder, 'metrics.txt');
    await pipeline(Readable.from(fleetMetrics(NODES, MINUTES, end)), createWriteStream(text));
    await promtool(['tsdb', 'create-blocks-from', 'openmetrics', text, path.join(folder, 'tsdb')], '', signal);
    const config = path.join(folder, 'prometheus.yaml');
    await writeFile(config, 'scrape_configs: []\n');
    const prometheus = stack.use(await startPrometheus(config, folder, signal));
    const queries = await dashboardQueries();
    assert.ok(queries.length > 30);
    for (const { title, expression } of queries) {
      const lines = await prometheus.queryHour(expression, end);
      t.diagnostic(`${String(lines.length).padStart(3)} lines: ${title}`);
      assert.ok(lines.length > 0 && lines.length <= MOST_LINES, `${title}: ${lines.length}`);
    }
  });
});
