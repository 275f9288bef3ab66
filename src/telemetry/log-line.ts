/** How a line of the log is written: JSON for programs, with journald's priority in front of it, or text for a person. */
import { escaped, escapedLine } from '../printable.ts';

/** Who reads the log: the journal of systemd, a person at a terminal, or another program. */
export type LogReader = 'journal' | 'terminal' | 'program';

/** Priorities of syslog, as sd-daemon(3) puts them in front of a line; journald takes them off again. */
const PRIORITIES: ReadonlyMap<string, number> = new Map(Object.entries({ error: 3, warn: 4, info: 6, debug: 7 }));
const LEVEL = /^\{"level":"(\w+)"/;

/** A value on one line; a text without quotes where it is one word. */
function valueText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return /^[\w./:@=+-]+$/.test(value) ? value : JSON.stringify(value);
}

/** `12:00:01 warn  message key=value`: what every line of a program has alike is left out. */
function asText(line: string): string {
  const { level, time, name: _name, msg, ...fields } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const rest = Object.entries(fields).map(([key, value]) => `${key}=${valueText(value)}`);
  const head = [String(time).slice(11, 19), String(level).padEnd(5), String(msg)];
  return `${escapedLine([...head, ...rest].join(' '))}\n`;
}

/** A line of the log, which is JSON with its level first, as the reader takes it. */
export function logLine(line: string, reader: LogReader): string {
  if (reader === 'terminal') return asText(line);
  const safe = escaped(line);
  if (reader === 'program') return safe;
  return `<${PRIORITIES.get(LEVEL.exec(line)?.[1] ?? '') ?? 6}>${safe}`;
}
