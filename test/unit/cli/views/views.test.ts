import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { drainOutput } from '../../../../src/cli/follow/maintenance/output.ts';
import { drainLines } from '../../../../src/cli/follow/maintenance/drain-text.ts';
import { formatPreview } from '../../../../src/cli/maintenance/preview-table.ts';
import { nodesTable } from '../../../../src/cli/nodes/nodes.ts';
import { historyTable } from '../../../../src/cli/report/report.ts';
import { formatReport } from '../../../../src/cli/report/text.ts';
import { formatStatus } from '../../../../src/cli/status/agent-table.ts';
import { overviewTable } from '../../../../src/cli/status/overview.ts';
import { checkLines } from '../../../../src/cli/terminal/checks.ts';
import type { FrameLine } from '../../../../src/cli/terminal/lines.ts';
import { recordTerminal } from '../../../support/stand-ins/recorded-terminal.ts';
import { CLOUD_FLEET, FLEET, MAINTENANCES, previewScene } from '../../../support/views/cluster.ts';
import { drainScene, NOW, viewOf } from '../../../support/views/drain.ts';
import { agentStatus, CHECKS, shutdownLine } from '../../../support/views/node.ts';

function textOf(lines: readonly FrameLine[]): string {
  return lines.map(({ text }) => `${text}\n`).join('');
}

/** What `--watch` writes: the first view, and one after half of the pods have left. */
function logOf(pods: number): string {
  const { terminal, output } = recordTerminal('pipe', () => NOW);
  const { show } = drainOutput(terminal, 'table');
  const { before, facts } = drainScene(pods);
  for (const each of [before, facts]) show(viewOf(each));
  return output();
}

const status = (pods: number, columns: number): string =>
  textOf(drainLines(viewOf({ ...drainScene(pods).facts, seen: new Map() }), columns, NOW));
const history = [1, 2].map((number) => ({ number, at: NOW, line: number === 2 ? undefined : shutdownLine(5) }));

/** What each command shows on a terminal of so many columns. */
const VIEWS: Readonly<Record<string, (columns: number) => string>> = {
  'status of 3 pods': (columns) => status(3, columns),
  'status of 300 pods': (columns) => status(300, columns),
  nodes: (columns) => textOf(nodesTable(FLEET, { isWide: false, columns, now: NOW })),
  'nodes of a cloud': (columns) => textOf(nodesTable(CLOUD_FLEET, { isWide: false, columns, now: NOW })),
  'nodes with all columns': (columns) => textOf(nodesTable(FLEET, { isWide: true, columns, now: NOW })),
  'nodes of a cloud with all columns': (columns) =>
    textOf(nodesTable(CLOUD_FLEET, { isWide: true, columns, now: NOW })),
  overview: (columns) => overviewTable(MAINTENANCES.maintenances, MAINTENANCES.nodes, { columns, now: NOW }),
  'preview of 3 pods': (columns) => formatPreview(previewScene(3), columns),
  'preview of 8 pods': (columns) => formatPreview(previewScene(8), columns),
  checks: (columns) => textOf(checkLines(CHECKS, columns)),
  'agent with 3 pods': (columns) => formatStatus(agentStatus(3), NOW, columns),
  'agent with 300 pods': (columns) => formatStatus(agentStatus(300), NOW, columns),
  history: (columns) => historyTable(history, columns),
  report: (columns) => formatReport(shutdownLine(5), columns),
};

/** Compares with the golden text beside this file; `NODEMAINT_WRITE_GOLDEN=1` writes it: look at it before you commit it. */
async function assertGolden(name: string, text: string): Promise<void> {
  const file = path.join(import.meta.dirname, 'golden', `${name.replaceAll(' ', '-')}.txt`);
  if (process.env['NODEMAINT_WRITE_GOLDEN'] === '1') await writeFile(file, text);
  assert.equal(text, await readFile(file, 'utf8'));
}

describe('a view', () => {
  for (const [name, draw] of Object.entries(VIEWS)) {
    for (const columns of [80, 200]) {
      it(`the view "${name}" fits ${columns} columns and is as it was looked at`, async () => {
        const text = draw(columns);
        for (const line of text.split('\n')) assert.ok(line.length <= columns, line);
        await assertGolden(`${name} ${columns}`, text);
      });
    }
  }

  it('the log of a watch has a line for each change and is as it was looked at', async () => {
    await assertGolden('log of 3 pods', logOf(3));
  });

  it('the log of a watch of 300 pods names what blocks them in two lines', () => {
    const lines = logOf(300).trimEnd().split('\n');
    assert.equal(lines.filter((line) => line.includes('150 pods wait for PodDisruptionBudget checkout')).length, 1);
    assert.equal(lines.filter((line) => line.includes('is held: it has the finalizer')).length, 1);
    assert.equal(lines.filter((line) => / evicted \(namespace shop\), \d+\/601 gone$/.test(line)).length, 300);
    assert.match(lines.at(-1) ?? '', /300\/601 gone$/);
  });

  it('status without a watch shows the same as the watch that began earlier', () => {
    const { facts } = drainScene(300);
    assert.equal(status(300, 80), textOf(drainLines(viewOf(facts), 80, NOW)));
  });
});
