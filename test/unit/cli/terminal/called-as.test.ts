import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCommandLine } from '../../../../src/cli/program.ts';
import { asCalled, programName } from '../../../../src/cli/terminal/called-as.ts';
import { createTerminal } from '../../../../src/cli/terminal/terminal.ts';

/** What the plugin of kubectl prints for a command line. */
async function asPlugin(...argv: readonly string[]): Promise<string> {
  let text = '';
  const stream = { write: (part: string): void => void (text += part) };
  const { signal } = new AbortController();
  const options = { output: stream, errors: stream, now: Date.now, stop: signal, signal };
  await runCommandLine(argv, createTerminal({ ...options, program: 'kubectl nodemaint' }));
  return text;
}

describe('the name by which the program is called', () => {
  it('it is that of the plugin where the file, or the script before it, is called so', () => {
    assert.equal(programName('/usr/lib/nodemaint/nodemaint.cjs', undefined), 'nodemaint');
    assert.equal(programName('/usr/lib/node_modules/.bin/kubectl-nodemaint', undefined), 'kubectl nodemaint');
    assert.equal(programName('/x/nodemaint.cjs', '/usr/local/bin/kubectl-nodemaint'), 'kubectl nodemaint');
    assert.equal(programName('/x/nodemaint.cjs', '/usr/local/bin/nodemaint'), 'nodemaint');
  });

  it('the plugin names itself in usage, examples and advice', async () => {
    const help = await asPlugin('drain', '--help');
    assert.match(help, /^Usage: kubectl nodemaint drain \[options\]/);
    assert.match(help, /^ {2}kubectl nodemaint drain -l pool=web --dry-run$/m);
    assert.match(await asPlugin('--help'), /^Usage: kubectl nodemaint \[options\]/);
    assert.match(await asPlugin('static-pods', 'park', '--help'), /^Usage: kubectl nodemaint static-pods park/);
    assert.match(await asPlugin('drain', 'n1', '--wait'), /\nSee: kubectl nodemaint drain --help\n$/);
  });

  it('commands of a node keep the name that the program has there, and other texts stay as they are', () => {
    for (const text of [
      'sudo nodemaint report',
      'run nodemaint doctor on the node',
      'journalctl -u nodemaint',
      'kubectl nodemaint drain n1',
      '/usr/bin/nodemaint drain',
      'nodemaint drained',
    ])
      assert.equal(asCalled(text, 'kubectl nodemaint'), text);
    assert.equal(asCalled('nodemaint drain n1', 'nodemaint'), 'nodemaint drain n1');
  });
});
