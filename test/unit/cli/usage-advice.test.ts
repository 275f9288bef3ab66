import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCommandLine } from '../../../src/cli/program.ts';
import { recordTerminal } from '../../support/stand-ins/recorded-terminal.ts';

/** What a line is answered; the cluster is one that is not there, so that nothing can happen. */
async function answerTo(...words: readonly string[]): Promise<string> {
  const recorded = recordTerminal('pipe');
  assert.equal(await runCommandLine([...words, '--kubeconfig=/nonexistent'], recorded.terminal), 2);
  assert.equal(recorded.output(), '');
  return recorded.errors();
}

describe('a line that this program does not have', () => {
  for (const [flag, advice] of [
    ['--ignore-daemonsets', ': use --keep daemonsets,static'],
    ['--ignore-daemonsets=true', ': use --keep daemonsets,static'],
    ['--delete-local-data', ': use --delete-emptydir-data'],
    ['--force', ': use --delete-unmanaged'],
    ['--grace-period=30', ''],
    ['--skip-wait-for-delete-timeout=1', ''],
    ['--wait', ''],
  ] as const) {
    it(`a line with a flag that drain does not have is answered with one sentence: ${flag}`, async () => {
      const expected = `nodemaint: unknown option '${flag}'${advice}\nSee: nodemaint drain --help\n`;
      assert.equal(await answerTo('drain', 'n1', flag), expected);
    });
  }

  it('a line gets the advice that kubectl drain has the flag for only where it is a drain', async () => {
    const found = await answerTo('cordon', 'n1', '--force');
    assert.equal(found, "nodemaint: unknown option '--force'\nSee: nodemaint cordon --help\n");
  });

  for (const verb of ['reboot', 'undrain', 'shutdown', 'stauts']) {
    it(`a line with another verb is not answered with a guess that may do the opposite: ${verb}`, async () => {
      assert.equal(await answerTo(verb, 'n1'), `nodemaint: unknown command '${verb}'\nSee: nodemaint --help\n`);
    });
  }
});
