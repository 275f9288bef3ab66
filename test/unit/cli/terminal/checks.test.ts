import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { printChecks } from '../../../../src/cli/terminal/checks.ts';
import type { Check } from '../../../../src/show/checks/node-checks.ts';
import { recordTerminal } from '../../../support/stand-ins/recorded-terminal.ts';

const LONG = 'the lock is not held '.repeat(12).trim();
const CHECKS: readonly Check[] = [
  { name: 'unit paths', result: 'ok', message: 'fine', fix: '' },
  { name: 'lock', result: 'fail', message: LONG, fix: 'systemctl start nodemaint' },
  { name: 'trust', result: 'warn', message: 'EVIL\u001B[2J\nforged  line', fix: 'chmod' },
];

describe('the checks as people see them', () => {
  it('a long finding stands in its column of a terminal, and on one line of a file', () => {
    const { terminal, output } = recordTerminal('terminal');
    assert.equal(printChecks(CHECKS, 'table', terminal), 1);
    const lines = output().split('\n');
    assert.ok(
      lines.every((line) => line.length <= 100),
      output(),
    );
    const at = lines.findIndex((line) => line.startsWith('fail'));
    assert.match(lines[at + 1] ?? '', /^ {20}\S/);
    const pipe = recordTerminal('pipe');
    printChecks(CHECKS, 'table', pipe.terminal);
    assert.ok(pipe.output().includes(`\nfail    lock        ${LONG}\n`), pipe.output());
    assert.match(pipe.output(), /^RESULT {2}CHECK {7}FINDING$/m);
    assert.match(pipe.output(), /\n\nHow to fix it:\n {2}lock: systemctl start nodemaint\n/);
  });

  it('a text from outside makes no line of its own and steers nothing', () => {
    for (const kind of ['terminal', 'pipe'] as const) {
      const { terminal, output } = recordTerminal(kind);
      printChecks(CHECKS, 'table', terminal);
      assert.doesNotMatch(output().replaceAll('\n', ''), /\p{Cc}/u);
      assert.doesNotMatch(output(), /^forged/m);
    }
  });
});
