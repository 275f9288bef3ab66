#!/usr/bin/env node
/** The only file that reads the command line, listens to process signals and sets the exit code. */
import process from 'node:process';
import { runProgram, type Terminal } from './cli/program.ts';

async function main(): Promise<void> {
  const stop = new AbortController();
  const abort = new AbortController();
  // The first signal asks to stop, which a drain under way may put off; the second one ends at once.
  const onSignal = (): void => {
    if (stop.signal.aborted) abort.abort();
    stop.abort();
  };
  const terminal: Terminal = {
    write: (text) => process.stdout.write(text),
    warn: (text) => process.stderr.write(text),
    isTerminal: process.stdout.isTTY,
    colours: process.stdout.isTTY && process.stdout.hasColors(),
    size: () => ({ columns: process.stdout.columns, rows: process.stdout.rows }),
    now: () => Date.now(),
    stop: stop.signal,
    signal: abort.signal,
  };
  // Nobody reads any more, as after `| head`: what Unix programs end for by SIGPIPE.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    onSignal();
  });
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  try {
    process.exitCode = await runProgram(process.argv.slice(2), terminal, (message) => process.stderr.write(message));
  } finally {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  }
}

main().catch((error: unknown) => {
  // Not an error that a person can act on: a fault of the program, shown with its place.
  console.error(error);
  process.exitCode = 1;
});
