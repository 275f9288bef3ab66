#!/usr/bin/env node
/** The only file that reads the command line, listens to process signals and sets the exit code. */
import process from 'node:process';
import { runProgram } from './cli/program.ts';

const stop = new AbortController();
const abort = new AbortController();

// The first signal asks to stop, which a drain under way may put off; the second one ends at once.
function onSignal(): void {
  if (stop.signal.aborted) abort.abort();
  stop.abort();
}

process.on('SIGTERM', onSignal);
process.on('SIGINT', onSignal);

process.exitCode = await runProgram(
  process.argv.slice(2),
  {
    write: (text) => process.stdout.write(text),
    isTerminal: process.stdout.isTTY,
    now: () => Date.now(),
    stop: stop.signal,
    signal: abort.signal,
  },
  (message) => process.stderr.write(message),
);
process.off('SIGTERM', onSignal);
process.off('SIGINT', onSignal);
