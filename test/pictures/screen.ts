/** What a terminal shows after a program has written to it: as much of one as the commands of nodemaint need. */
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startProgram } from '../control-plane/process.ts';
import { readFile } from 'node:fs/promises';

/** The look of a character. */
export interface Look {
  readonly bold: boolean;
  readonly dim: boolean;
  readonly colour: 'green' | 'yellow' | 'red' | undefined;
}

/** Characters of one look that follow each other on a line. */
export interface Run extends Look {
  readonly text: string;
}

const PLAIN: Look = { bold: false, dim: false, colour: undefined };
const COLOURS = { '31': 'red', '32': 'green', '33': 'yellow', '39': undefined } as const;

function looked(look: Look, code: string): Look {
  if (code === '' || code === '0') return PLAIN;
  if (code === '1') return { ...look, bold: true };
  if (code === '2') return { ...look, dim: true };
  if (code === '22') return { ...look, bold: false, dim: false };
  if (code in COLOURS) return { ...look, colour: COLOURS[code as keyof typeof COLOURS] };
  throw new Error(`a style that these pictures do not have: ${code}`);
}

/** A token of what was written: a control sequence, a control character, or text. */
// eslint-disable-next-line no-control-regex
const TOKEN = /\x1b\[([0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)/gy;

/** The lines that the terminal shows. Throws where a program has written what this terminal does not know. */
export function screenOf(written: string): readonly (readonly Run[])[] {
  const lines: Run[][] = [[]];
  let [row, look] = [0, PLAIN];
  let at = 0;
  for (const [whole, parameters = '', final, control, text] of written.matchAll(TOKEN)) {
    at += whole.length;
    if (text !== undefined) (lines[row] ??= []).push({ ...look, text });
    else if (control === '\n') row += 1;
    else if (final === 'A') row -= Number(parameters || '1');
    else if (final === 'J') lines.length = row;
    else if (final === 'm') for (const code of parameters.split(';')) look = looked(look, code);
    else if (control !== '\r') throw new Error(`a sequence that these pictures do not have: ${JSON.stringify(whole)}`);
    lines[row] ??= [];
  }
  if (at !== written.length) throw new Error(`not understood: ${JSON.stringify(written.slice(at, at + 40))}`);
  while (lines.at(-1)?.length === 0) lines.pop();
  return lines;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Runs a program on a real terminal of this many columns until it ends, or for `ms` milliseconds, and returns what it has written. */
export async function onTerminal(
  words: readonly string[],
  { columns, ms, logFile }: { readonly columns: number; readonly ms?: number; readonly logFile: string },
): Promise<string> {
  const line = `stty cols ${columns} rows 60 -echo; exec ${words.map(quoted).join(' ')}`;
  const script = ['script', '--quiet', '--flush', '--return', '--command', line, '/dev/null'] as const;
  const env = { TERM: 'xterm-256color', NO_COLOR: undefined, SHELL: '/bin/sh' };
  if (ms === undefined) {
    const options = { env: { ...process.env, ...env }, timeout: 60_000 };
    return (await promisify(execFile)(script[0], script.slice(1), options)).stdout;
  }
  await using program = startProgram(script, logFile, env);
  await delay(ms);
  const written = await readFile(logFile, 'utf8');
  await program.stop();
  return written;
}
