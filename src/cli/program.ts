import { Command, CommanderError } from 'commander';
import { addCompletion } from './completion/program.ts';
import { addConfig } from './config/program.ts';
import { addAgent, addController } from './daemons.ts';
import { addDoctor } from './doctor/program.ts';
import { addEvict } from './evict/program.ts';
import { addInstaller } from './installer/program.ts';
import { addMaintenanceCommands } from './maintenance/program.ts';
import { type ExitWith, asLibraryReads } from './arguments/options.ts';
import { addReport } from './report/program.ts';
import { addShutdown } from './shutdown/program.ts';
import { addStaticPods } from './static-pods/program.ts';
import { addStatus } from './status/program.ts';
import { EXIT, failedExitCode } from './terminal/exit-code.ts';
import type { Terminal } from './terminal/terminal.ts';
import { addUninstall } from './uninstall/program.ts';
import { VERSION } from '../version.ts';
import { addCheck } from './check/program.ts';
import { addNodes } from './nodes/program.ts';
import { addVersion } from './version/program.ts';

/** The flags of `kubectl drain` that stand in most runbooks, with what does the same here. */
const OF_KUBECTL_DRAIN: ReadonlyMap<string, string> = new Map([
  ['--ignore-daemonsets', 'use --keep daemonsets,static'],
  ['--delete-local-data', 'use --delete-emptydir-data'],
  ['--force', 'use --delete-unmanaged'],
]);

/** What a person is told who writes a command line that this program does not have, from the library's message, and where the help is. */
function usageAdvice(message: string, argv: readonly string[], commands: readonly string[]): string {
  const said = message
    .trim()
    .replace(/^error: /, '')
    // The library says this in words of its own.
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*)'\. /, "'$1' is no $2. ")
    .replace(/ is invalid\. must/, ': it must');
  const [command = ''] = argv;
  const option = /^unknown option '([^'=]+)/.exec(said)?.[1];
  const ofDrain = command === 'drain' ? OF_KUBECTL_DRAIN.get(option ?? '') : undefined;
  const instead = command.startsWith('-') ? 'flags stand after the command, as in "nodemaint nodes -o json"' : ofDrain;
  const advice = option === undefined || instead === undefined ? '' : `: ${instead}`;
  const help = commands.includes(command) ? `nodemaint ${command} --help` : 'nodemaint --help';
  return `nodemaint: ${said}${advice}\nSee: ${help}\n`;
}

/** A description as a sentence: those that stand in a list too begin with a small letter and have no end. */
function sentenceOf(text: string): string {
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return sentence === '' || sentence.endsWith('.') ? sentence : `${sentence}.`;
}

/** The whole command line; each command loads its own part of the program when it runs. */
export function createProgram(terminal: Terminal, exitWith: ExitWith, argv: readonly string[] = []): Command {
  const program = new Command('nodemaint')
    .description("Makes a Kubernetes node's shutdown wait for its applications.")
    .version(VERSION)
    .exitOverride()
    .enablePositionalOptions()
    // What has a similar name may do the opposite.
    .showSuggestionAfterError(false)
    .configureHelp({ minWidthToWrap: 24, commandDescription: (command) => sentenceOf(command.description()) })
    .configureOutput({
      writeOut: (text) => {
        terminal.say(text);
      },
      writeErr: (text) => {
        terminal.warn(text);
      },
      outputError: (text) => {
        const commands = program.commands.map((command) => command.name());
        terminal.warn(usageAdvice(text, argv, commands));
      },
    });
  program.commandsGroup('This machine:');
  addStatus(program, terminal, exitWith);
  addShutdown(program, terminal, exitWith);
  addReport(program, terminal, exitWith);
  addDoctor(program, terminal, exitWith);
  addConfig(program, terminal);
  addStaticPods(program, terminal, exitWith);
  program.commandsGroup('The cluster:');
  addNodes(program, terminal);
  addCheck(program, terminal, exitWith);
  addMaintenanceCommands(program, terminal, exitWith);
  addEvict(program, terminal, exitWith);
  addUninstall(program, terminal, exitWith);
  program.commandsGroup('Services:');
  addAgent(program, terminal);
  addController(program, terminal);
  addInstaller(program, terminal);
  program.commandsGroup('Other:');
  addVersion(program, terminal);
  addCompletion(program, terminal);
  return program;
}

/**
 * A command line as the library should read it. It answers "nonsense --help" with its own help, as if there were such a
 * command; without the flag, it says that there is none. "help a b" is "a b --help".
 */
function withKnownHelp(program: Command, argv: readonly string[]): readonly string[] {
  if (argv[0] === 'help') return withKnownHelp(program, [...argv.slice(1), '--help']);
  let command = program;
  for (const [index, word] of argv.entries()) {
    if (word.startsWith('-') || command.commands.length === 0) return argv;
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) return argv.slice(0, index + 1);
    command = next;
  }
  return argv;
}

/**
 * Runs the command line. Returns the exit code: 0 done, 1 failed, 2 usage error or invalid configuration, and the other
 * codes of a command. Prints an error that a person can act on as one message; throws all others.
 */
export async function runCommandLine(argv: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT.done;
  const exitWith = (code: number): void => {
    exitCode = code;
  };
  try {
    const program = createProgram(terminal, exitWith, argv);
    const options = program.commands.find((command) => command.name() === argv[0])?.options ?? [];
    await program.parseAsync([...asLibraryReads(withKnownHelp(program, argv), options)], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    return failedExitCode(error, terminal);
  }
}
