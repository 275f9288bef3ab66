/** The manual pages and the completion scripts, made from the command line itself. */
import type { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { completionScript } from '../src/cli/completion/program.ts';
import { createProgram } from '../src/cli/program.ts';
import { createTerminal } from '../src/cli/terminal/terminal.ts';
import type { TarFile } from './tar.ts';

const SECTION = 1;

/** A text in roff: nothing in it is a request or an escape. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\(rs')
    .replaceAll('-', '\\-')
    .split('\n')
    .map((line) => (/^[.']/.test(line) ? `\\&${line}` : line))
    .join('\n');
}

function fileName(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return names.join('-');
}

/** What a help text has after the options, such as the exit codes: paragraphs with a title, each of lines as they are. */
function sections(after: string): string {
  const parts = after.split(/^(\S.*):$/m);
  const before = parts[0]?.trim() ?? '';
  const text = before === '' ? '' : `.PP\n${roff(before)}\n`;
  const titled = parts.slice(1).flatMap((title, at) => {
    if (at % 2 === 1) return [];
    const lines = (parts[at + 2] ?? '').replaceAll(/^\n+|\n+$/g, '');
    return [`.SH ${roff(title.toUpperCase())}\n.nf\n${roff(lines)}\n.fi\n`];
  });
  return text + titled.join('');
}

interface Entry {
  readonly term: string;
  readonly meaning: string;
}

function listOf(title: string, entries: readonly Entry[]): string {
  if (entries.length === 0) return '';
  const items = entries.map(({ term, meaning }) => `.TP\n\\fB${roff(term)}\\fR\n${roff(meaning) || '\\&'}\n`);
  return `.SH ${title}\n${items.join('')}`;
}

/** The text of a command's help. Reading it has no effect: nothing is run. */
function helpOf(command: Command): string {
  let text = '';
  const { writeOut } = command.configureOutput();
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  command.configureOutput(writeOut === undefined ? {} : { writeOut });
  return text;
}

function pageOf(command: Command): TarFile {
  const help = command.createHelp();
  const name = fileName(command);
  const summary = command.summary() || command.description().replace(/\.$/, '');
  const usage = help.commandUsage(command);
  const commands = help.visibleCommands(command).filter((child) => child.name() !== 'help');
  const seen = [...new Set([command.parent, ...commands])].filter((other) => other !== null && other !== undefined);
  const text = [
    `.TH ${name.toUpperCase().replaceAll('-', '\\-')} ${SECTION} "" "${packageJson.name} ${packageJson.version}"\n`,
    `.SH NAME\n${roff(name)} \\- ${roff(summary)}\n`,
    `.SH SYNOPSIS\n.B ${roff(usage)}\n`,
    `.SH DESCRIPTION\n${roff(command.description())}\n`,
    listOf('COMMANDS', commands.map((child) => ({ term: help.subcommandTerm(child), meaning: help.subcommandDescription(child) }))),
    listOf('ARGUMENTS', help.visibleArguments(command).map((argument) => ({ term: help.argumentTerm(argument), meaning: help.argumentDescription(argument) }))),
    listOf('OPTIONS', help.visibleOptions(command).map((option) => ({ term: help.optionTerm(option), meaning: help.optionDescription(option) }))),
    sections(helpOf(command).slice(command.helpInformation().length)),
    seen.length === 0 ? '' : `.SH SEE ALSO\n${seen.map((other) => `.BR ${roff(fileName(other))} (${SECTION})`).join(',\n')}\n`,
  ];
  return { name: `${name}.${SECTION}`, mode: 0o644, data: Buffer.from(text.join('')) };
}

function allOf(command: Command): readonly Command[] {
  const shown = command.createHelp().visibleCommands(command);
  return [command, ...shown.filter((child) => child.name() !== 'help').flatMap(allOf)];
}

/** The command line, which prints nothing. */
function commandLine(): Command {
  const ignored = { write: () => undefined };
  const never = new AbortController().signal;
  const terminal = createTerminal({ output: ignored, errors: ignored, now: () => 0, stop: never, signal: never });
  return createProgram(terminal, () => undefined);
}

/** The manual pages: one for the program, and one for each command. */
export function manualPages(): readonly TarFile[] {
  return allOf(commandLine()).map(pageOf);
}

/** The completion scripts, by the path below /usr at which a Linux distribution looks for them. */
export function completions(zshDirectory: string): readonly TarFile[] {
  const root = commandLine();
  const file = (name: string, mode: number, text: string): TarFile => ({ name, mode, data: Buffer.from(text) });
  return [
    file('share/bash-completion/completions/nodemaint', 0o644, completionScript('bash', root)),
    file(`share/zsh/${zshDirectory}/_nodemaint`, 0o644, completionScript('zsh', root)),
    file('share/fish/vendor_completions.d/nodemaint.fish', 0o644, completionScript('fish', root)),
    file('bin/kubectl_complete-nodemaint', 0o755, completionScript('kubectl', root)),
  ];
}
