/** How a line of the log is written: as text for a person, the sentence first, or as JSON for a program. */
import { escaped, escapedLine } from '../printable.ts';

/** Who reads the log: the journal of systemd, a person at a terminal, or another program. */
export type LogReader = 'journal' | 'terminal' | 'program';

/** How a line is written. */
export type LogFormat = 'text' | 'json';

/** Who reads a line, and how it is written for them. */
interface LineForm {
  readonly reader: LogReader;
  readonly format: LogFormat;
}

/** The format for a reader: the one that is configured, else text for the journal and a terminal, and JSON for a program. */
export function formatFor(reader: LogReader, configured?: LogFormat): LogFormat {
  return configured ?? (reader === 'program' ? 'json' : 'text');
}

/** Priorities of syslog, as sd-daemon(3) puts them in front of a line; journald takes them off again. */
const PRIORITIES: ReadonlyMap<string, number> = new Map(Object.entries({ error: 3, warn: 4, info: 6, debug: 7 }));
const LEVEL = /^\{"level":"(\w+)"/;

/** A value on one line; a text without quotes where it is one word. */
function valueText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return /^[\w./:@=+-]+$/.test(value) ? value : JSON.stringify(value);
}

/** Time and level, as far as the reader does not know them already; the journal has both. */
function headOf(reader: LogReader, time: string, level: string): readonly string[] {
  if (reader === 'journal') return [];
  return [reader === 'terminal' ? time.slice(11, 19) : time, level.padEnd(5)];
}

/** `12:00:01 warn  message key=value`: what every line of a program has alike is left out. */
function asText(line: string, reader: LogReader): string {
  const { level, time, name: _name, msg, ...fields } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const rest = Object.entries(fields).map(([key, value]) => `${key}=${valueText(value)}`);
  const head = headOf(reader, String(time), String(level));
  return `${escapedLine([...head, String(msg), ...rest].join(' '))}\n`;
}

/** A line of the log, which is JSON with its level first, as the reader takes it; the journal gets its priority in front. */
export function logLine(line: string, { reader, format }: LineForm): string {
  const written = format === 'text' ? asText(line, reader) : escaped(line);
  if (reader !== 'journal') return written;
  return `<${PRIORITIES.get(LEVEL.exec(line)?.[1] ?? '') ?? 6}>${written}`;
}
