import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { CommanderError, type Command } from 'commander';
import { createProgram } from '../../../src/cli/program.ts';
import { literalsOfSource, textsWithCommands } from '../../structure/advice.ts';
import { recordTerminal } from '../../support/stand-ins/recorded-terminal.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
/** What follows the name of the program in a text: a flag, or what a person puts a value for. */
const WORD = /^(?:--?[a-z][\w-]*(?:=\S+)?|[A-Z][A-Z0-9]*|nm\/\S+|node\/\S+|[a-z/-]+-\d|…|\$\(.*)$/;

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

function withoutActions(command: Command): Command {
  command.action(() => undefined).exitOverride();
  for (const child of command.commands) withoutActions(child);
  return command;
}

/** The commands of the program in a text, each as words; a name of a program in a sentence is none. */
function commandsIn(text: string, program: Command): readonly (readonly string[])[] {
  return [...text.matchAll(/(?<![\w/.-])nodemaint ([^;"`)\n]*)/g)].flatMap(([, rest = '']) => {
    const [verb = '', ...others] = rest.trim().split(/[ ,:]+/);
    const command = program.commands.find((each) => each.name() === verb);
    // "the nodemaint controller" is a thing, and so are the other services.
    if (command === undefined || ['controller', 'agent'].includes(verb)) return [];
    const words = [verb];
    const values = others.map((word) => word.replace(/\.$/, ''));
    const child = command.commands.find((each) => each.name() === values[0]);
    if (child !== undefined) words.push(values.shift() ?? '');
    // A part of the name that the program puts in.
    if (values[0] === '…' && command.commands.length > 0) return [];
    while (WORD.test(values[0] ?? '')) {
      const word = values.shift() ?? '';
      const option = (child ?? command).options.find(({ short, long }) => word === short || word === long);
      if (word === '--dry-run') words.push('--dry-run=server');
      else words.push(word, ...(option?.required === true ? [values.shift() ?? 'VALUE'] : []));
    }
    return [words];
  });
}

/** What the library says against a command line; undefined where it takes it. */
async function refusalOf(words: readonly string[]): Promise<string | undefined> {
  const { terminal, errors } = recordTerminal('pipe');
  try {
    await withoutActions(createProgram(terminal, () => undefined)).parseAsync([...words], { from: 'user' });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError && error.code === 'commander.helpDisplayed') return undefined;
    return errors() || String(error);
  }
}

describe('the advice of messages', () => {
  it('each command of this program in a text of the source, or on a page for users, is one that the command line takes', async () => {
    const program = createProgram(recordTerminal('pipe').terminal, () => undefined);
    const pages = [...globSync('docs/usage/*.md', { cwd: ROOT }), 'README.md'];
    const onPages = pages.map((file) => ({ file, text: read(file) }));
    const found = [...textsWithCommands(), ...onPages].flatMap(({ file, text }) =>
      commandsIn(text, program).map((words) => ({ file, words })),
    );
    assert.ok(found.length > 140, String(found.length));
    const wrong: string[] = [];
    for (const { file, words } of found) {
      const refused = await refusalOf(words);
      // A command without its arguments stands for the command itself.
      if (refused !== undefined && !/missing required argument|required option/.test(refused))
        wrong.push(`${file}: ${words.join(' ')}: ${refused}`);
    }
    assert.deepEqual(wrong, []);
  });

  it('each page that advice names exists, with the heading', () => {
    const pages = literalsOfSource().flatMap(({ text }) => [...text.matchAll(/docs\/[\w/-]+\.md(?:#([\w-]+))?/g)]);
    assert.ok(pages.length >= 3);
    for (const [link, anchor] of pages) {
      const file = link.replace(/#.*/, '');
      assert.ok(existsSync(path.join(ROOT, file)), link);
      const headings = [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      );
      if (anchor !== undefined) assert.ok(headings.includes(anchor), link);
    }
  });
});
