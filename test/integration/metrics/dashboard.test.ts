/** The dashboard with 400 nodes of which five are drained at a time: each panel has few lines. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openFleetDatabase } from '../../prometheus/fleet-database.ts';
import { dashboardQueries } from '../../support/monitoring.ts';

const NODES = 400;
/** A reader tells no more lines apart. */
const MOST_LINES = 12;

describe('the dashboard with 400 nodes', () => {
  it('each query answers with at least one line and at most twelve for an hour in which 25 nodes were drained', async (t) => {
    const { signal } = new AbortController();
    await using database = await openFleetDatabase(NODES, signal);
    const queries = await dashboardQueries();
    assert.ok(queries.length > 30);
    for (const { title, expression } of queries) {
      const lines = await database.prometheus.queryHour(expression, database.end);
      t.diagnostic(`${String(lines.length).padStart(3)} lines: ${title}`);
      assert.ok(lines.length > 0 && lines.length <= MOST_LINES, `${title}: ${lines.length}`);
    }
  });
});
