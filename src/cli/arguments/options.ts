/** The flags that several commands share, with one text each. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../decide/duration.ts';
import { AGENT_CONFIG_PATH } from '../machine/agent-line.ts';

/** How a command sets the exit code of the program. */
export type ExitWith = (code: number) => void;

/** Refuses an argument without a word. */
export function nonEmpty(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('must not be empty');
  return text;
}

/** The flag --config of the commands that read the agent's configuration. */
export function configOption(): Option {
  return new Option('--config <file>', "the agent's configuration file").default(AGENT_CONFIG_PATH);
}

/** What some commands can print beside tables and documents. */
type MoreOutput = 'name';

/** The flag --output of the commands that print a table for people, with further formats where a command has them. */
export function outputOption(...more: readonly MoreOutput[]): Option {
  const formats = ['table', ...more, 'json', 'yaml'];
  return new Option('-o, --output <format>', 'output format').choices(formats).default('table');
}

/** Whether a command changes something: `server` lets the API server check it, `client` only shows it. */
export type DryRun = 'server' | 'client';

const DRY_RUNS = ['none', 'server', 'client'];

/** The flag --dry-run, which may stand alone, as `asLibraryReads` has it. */
export function dryRunOption(more = ''): Option {
  const text = `server: let the server check everything and change nothing${more}; client: ask for no change at all; alone: server`;
  const option = new Option('--dry-run <mode>', text).choices(DRY_RUNS);
  return option.argParser((mode) => {
    if (DRY_RUNS.includes(mode)) return mode === 'none' ? undefined : mode;
    throw new InvalidArgumentError(`Allowed choices are ${DRY_RUNS.join(', ')}.`);
  });
}

/**
 * The words of a command line that kubectl would understand, as the library reads them: it takes the next word for the mode of a
 * --dry-run that stands alone, "=json" for the value of -o=json, and knows no --watch=true.
 */
export function asLibraryReads(argv: readonly string[], options: readonly Option[]): readonly string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  return argv.map((word, index) => {
    if (index >= end) return word;
    if (word === '--dry-run') return '--dry-run=server';
    const [flag = '', value = ''] = word.split(/=(.*)/s, 2);
    const option = options.find(({ short, long }) => flag === short || flag === long);
    if (option === undefined || value === '') return word;
    if (option.isBoolean()) return value === 'true' ? flag : word;
    return flag === option.short ? flag + value : word;
  });
}

/** The flag -l of the commands that take nodes. */
export function selectorOption(): Option {
  return new Option('-l, --selector <selector>', 'the nodes with these labels, such as pool=web, in place of names');
}

/** The flag --run-directory of the commands that ask the agent. */
export function runDirectoryOption(): Option {
  return new Option('--run-directory <folder>', 'the runDirectory of the agent').default('/run/nodemaint');
}

/** The flag --timeout of a command that watches with --watch. */
export function watchTimeoutOption(): Option {
  return new Option('--timeout <time>', 'stop watching after this time, such as 90s, 20m or 1h30m; 0: no limit');
}

/** The flag --timeout of a command that waits. */
export function waitTimeoutOption(what: string, byDefault: string): Option {
  return new Option('--timeout <time>', `stop waiting for ${what} after this time; 0: no limit`).default(byDefault);
}

function addGroup(group: string, before: readonly string[] = []): readonly string[] {
  return [...before, nonEmpty(group)];
}

/** The time of --request-timeout in milliseconds, written as for kubectl: a number alone counts seconds. */
function requestTime(text: string): number {
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : parseDuration(text);
  // A timer of Node.js can wait no longer.
  if (ms !== undefined && ms < 2 ** 31) return ms;
  throw new InvalidArgumentError('Write a time such as 30s or 2m, or 0 for no limit.');
}

/** Adds the flags that choose a cluster, and as whom, and how its API server is asked. */
export function addAccessOptions(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'default: $KUBECONFIG, ~/.kube/config, or the service account of the pod')
    .option('--context <name>', 'context of the kubeconfig')
    .addOption(new Option('--as <user>', 'act as this user, as kubectl does').argParser(nonEmpty))
    .addOption(new Option('--as-group <group>', 'and as this group; can be repeated').argParser(addGroup))
    .addOption(
      new Option(
        '--request-timeout <time>',
        'give each request up after this time; 0: never; default: after 30s without a sign of the server',
      ).argParser(requestTime),
    );
}

/** Adds the flags of every command that reads or changes a cluster. */
export function addClusterOptions(command: Command, ...more: readonly MoreOutput[]): Command {
  return addAccessOptions(command).addOption(outputOption(...more));
}

/** What stands after a help text, as the library takes it: command lines that people need often. */
export function examples(...lines: readonly string[]): ['after', string] {
  return ['after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`];
}

/** The end of a help text: what each exit code means; those that mean the same for most commands need not be given. */
export function exitCodes(meanings: Readonly<Record<number, string>>): ['after', string] {
  const all = { 1: 'failed or refused', 2: 'usage error', ...meanings, 130: 'interrupted' };
  const lines = Object.entries(all).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return ['after', `\nExit codes:\n${lines.join('\n')}`];
}
