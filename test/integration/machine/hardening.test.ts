/** What the units may do, as systemd-analyze measures it, without running them. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const UNITS = path.join(ROOT, 'systemd', 'system');
const LIMITS = { 'nodemaint.service': 2.2, 'nodemaint-inhibitor.service': 0.7 } as const;

interface Row {
  readonly set: boolean | null;
  readonly name: string;
  readonly exposure: string | null;
}

async function analyze(unit: string, ...flags: readonly string[]): Promise<string> {
  const args = ['security', '--offline=yes', '--no-pager', ...flags, path.join(UNITS, unit)];
  return (await promisify(execFile)('systemd-analyze', args)).stdout;
}

describe('the hardening of the units', () => {
  for (const [unit, limit] of Object.entries(LIMITS)) {
    it(`the hardening exposes ${unit} to at most ${limit}, and every point that is left is explained`, async (t) => {
      const overall = /Overall exposure level for \S+: ([\d.]+)/.exec(await analyze(unit))?.[1];
      t.diagnostic(`${unit}: ${overall}`);
      assert.ok(Number(overall) <= limit, `${unit} is exposed to ${overall}, more than ${limit}`);
      const rows = JSON.parse(await analyze(unit, '--json=short')) as Row[];
      const left = rows.filter(({ set, exposure }) => set === false && exposure !== null);
      assert.ok(left.length > 0);
      const doc = await readFile(path.join(ROOT, 'docs', 'reference', 'hardening.md'), 'utf8');
      for (const { name, exposure } of left) {
        const line = doc.split('\n').find((text) => text.startsWith(`| \`${name.replaceAll('|', '\\|')}\` |`));
        assert.ok(
          line?.includes(` ${exposure} |`),
          `docs/reference/hardening.md has no row for ${name}, ${exposure} points`,
        );
      }
    });
  }

  it('the hardening limits the memory and the processes of the agent', async () => {
    for (const unit of Object.keys(LIMITS)) {
      const text = await readFile(path.join(UNITS, unit), 'utf8');
      for (const wanted of ['OOMScoreAdjust=-999', 'MemoryMax=', 'TasksMax=', 'LimitCORE=0']) {
        assert.ok(text.includes(`\n${wanted}`), `${unit} lacks ${wanted}`);
      }
    }
  });
});
