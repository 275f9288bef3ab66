import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import type { Command } from 'commander';
import { completionScript } from '../../../src/cli/completion/program.ts';
import { createProgram, runCommandLine } from '../../../src/cli/program.ts';
import { recordTerminal } from '../../support/stand-ins/recorded-terminal.ts';

const { terminal } = recordTerminal('pipe');
const ROOT = createProgram(terminal, () => undefined);

function withDescendants(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withDescendants)];
}

/** The words that call a command, without the program's name. */
function wordsOf(command: Command): readonly string[] {
  return command.parent === null ? [] : [...wordsOf(command.parent), command.name()];
}

/** What a command's help shows, with the text after its options. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (more) => (text += more) });
  command.outputHelp();
  return text;
}

/** What the script of kubectl prints for these words. */
function complete(...words: readonly string[]): readonly string[] {
  const script = completionScript('kubectl', ROOT);
  return execFileSync('sh', ['-c', script, 'sh', ...words], { encoding: 'utf8' })
    .trimEnd()
    .split('\n');
}

describe('the help', () => {
  for (const command of withDescendants(ROOT)) {
    it(`the help of ${command.name()} has plain words and a text for each flag`, () => {
      const help = helpOf(command);
      assert.doesNotMatch(help, /\b(nobody|somebody|anew|whoever|so long|as long|wish|used wrongly|by hand)\b/i);
      if (command.name() !== 'machine-facts') assert.notEqual(command.description(), '');
      for (const { long, description } of command.options) {
        if (long !== '--log-level') assert.notEqual(description, '', long);
      }
    });
  }

  for (const command of withDescendants(ROOT)) {
    if (command.commands.length > 0 || command.name() === 'machine-facts') continue;
    it(`the help of ${command.parent?.name()} ${command.name()} is a sentence with examples, and fits 80 columns`, () => {
      const help = helpOf(command);
      assert.match(help, /^Usage: .*\n\n[A-Z][^]*?\.\n\n/);
      assert.match(help, /\nExamples:\n {2}(?:sudo |source <\()?nodemaint /);
      for (const line of help.split('\n')) assert.ok(line.length <= 80, line);
    });
  }

  it('the examples of the help name maintenances as drain names them, so that they find something', () => {
    const named = withDescendants(ROOT).flatMap((command) => [...helpOf(command).matchAll(/nodemaint .*\bnm\/(\S+)/g)]);
    const wrong = named.map(([, name = '']) => name).filter((name) => !/^(NAME\b|maintenance-worker-\d)/.test(name));
    assert.ok(named.length > 0);
    assert.deepEqual(wrong, []);
  });

  for (const command of withDescendants(ROOT)) {
    const words = wordsOf(command);
    for (const argv of [
      [...words, '--help'],
      [...words, '-h'],
      ['help', ...words],
    ]) {
      it(`nodemaint ${argv.join(' ')} shows the help, does nothing else, and exits with 0`, async () => {
        const recorded = recordTerminal('pipe');
        assert.equal(await runCommandLine(argv, recorded.terminal), 0, recorded.errors());
        assert.equal(recorded.errors(), '');
        assert.match(recorded.output(), new RegExp(`^Usage: ${['nodemaint', ...words].join(' ')} `));
      });
    }
  }

  it('the help of a command that does not exist says so, and where the help is', async () => {
    for (const [argv, message] of [
      ['help uninstall', /unknown command 'uninstall'\nSee: nodemaint --help/],
      ['dran --help', /unknown command 'dran'\nSee: nodemaint --help/],
      ['config chek --help', /unknown command 'chek'\nSee: nodemaint config --help/],
    ] as const) {
      const recorded = recordTerminal('pipe');
      assert.equal(await runCommandLine(argv.split(' '), recorded.terminal), 2, argv);
      assert.equal(recorded.output(), '');
      assert.match(recorded.errors(), message);
    }
  });

  it('the help of commands that end with codes of their own names all codes', () => {
    for (const name of ['drain', 'cordon', 'complete', 'evict', 'restore']) {
      const command = ROOT.commands.find((each) => each.name() === name);
      assert.ok(command);
      const text = helpOf(command);
      assert.match(text, /\nExit codes:\n {2}0 {2}\S.*\n {2}1 {2}\S.*\n {2}2 {2}usage error\n {2}3 {2}\S/, name);
    }
  });
});

describe('the completion', () => {
  it('offers the commands that begin with the word, without the hidden ones', () => {
    assert.deepEqual(complete('dr'), ['drain', ':4']);
    assert.ok(!complete('').includes('machine-facts'));
  });

  it('offers the flags of a command, and the values of a flag and of an argument', () => {
    assert.deepEqual(complete('drain', 'n1', '--rea'), ['--reason', ':4']);
    assert.deepEqual(complete('status', '-o', ''), ['table', 'name', 'json', 'yaml', ':4']);
    assert.deepEqual(complete('completion', 'z'), ['zsh', ':4']);
    assert.deepEqual(complete('config', 'sh'), ['show', ':4']);
    assert.deepEqual(complete('config', 'show', '--conf'), ['--config', ':4']);
    assert.deepEqual(complete('static-pods', 'list', '-o', 'y'), ['yaml', ':4']);
    assert.deepEqual(complete('drain', 'n1', '--keep', 'st'), ['static', ':4']);
    assert.deepEqual(complete('config', 'show', ''), [':0']);
  });

  it('offers nothing for the free text of a flag, an unknown command, and a node', () => {
    assert.deepEqual(complete('drain', '--reason', ''), [':0']);
    assert.deepEqual(complete('nonsense', ''), [':0']);
    assert.deepEqual(complete('drain', ''), [':0']);
  });
});

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

  it('a line whose flag stands before the command is told where flags stand', async () => {
    const expected = /^nodemaint: unknown option '--context': flags stand after the command, as in "nodemaint nodes/;
    assert.match(await answerTo('--context', 'x', 'nodes'), expected);
  });

  for (const verb of ['reboot', 'undrain', 'shutdown', 'stauts']) {
    it(`a line with another verb is not answered with a guess that may do the opposite: ${verb}`, async () => {
      assert.equal(await answerTo(verb, 'n1'), `nodemaint: unknown command '${verb}'\nSee: nodemaint --help\n`);
    });
  }
});
