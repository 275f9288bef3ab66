#!/usr/bin/env node
/** The entry point: reads the command line, handles process signals and sets the exit code. */
import process from 'node:process';
import { inspect } from 'node:util';
import { agentConfigPath } from './cli/machine/agent-line.ts';
import { EXIT } from './cli/terminal/exit-code.ts';
import { programName } from './cli/terminal/called-as.ts';
import { createTerminal, type Terminal } from './cli/terminal/terminal.ts';
import { escaped } from './printable.ts';

/** Runs the command line; loads of the program what it needs, so that an idle agent keeps no command in its memory. */
async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const configPath = agentConfigPath(argv);
  if (configPath !== undefined) {
    const { runAgentProgram } = await import('./cli/agent.ts');
    return await runAgentProgram(configPath, terminal);
  }
  const { runCommandLine } = await import('./cli/program.ts');
  return await runCommandLine(argv, terminal);
}

async function main(): Promise<void> {
  const stop = new AbortController();
  const abort = new AbortController();
  // The first signal asks to stop, which a drain may delay; the second one ends the program at once.
  let isInterrupted = false;
  const onSignal = (signal?: NodeJS.Signals): void => {
    isInterrupted ||= signal === 'SIGINT';
    if (stop.signal.aborted) abort.abort();
    stop.abort();
  };
  const terminal = createTerminal({
    output: process.stdout,
    errors: process.stderr,
    now: () => Date.now(),
    program: programName(process.argv[1], process.env['NODEMAINT_CALLED_AS']),
    stop: stop.signal,
    signal: abort.signal,
  });
  // The reader has closed the pipe, as `| head` does; other programs are ended by SIGPIPE then.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    onSignal();
  });
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  try {
    const code = await run(process.argv.slice(2), terminal);
    process.exitCode = isInterrupted && code !== EXIT.done ? EXIT.interrupted : code;
  } finally {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  }
}

main().catch((error: unknown) => {
  // Not an error that a person can act on but a defect of the program: shown with its stack.
  process.stderr.write(`${escaped(inspect(error))}\n`);
  process.exitCode = 1;
});
