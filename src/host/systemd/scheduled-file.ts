import { type FSWatcher, watch } from 'node:fs';
import path from 'node:path';
import type { ShutdownRequester } from '../../decide/shutdown/detection.ts';
import { shutdownKind } from '../../decide/shutdown/kind.ts';
import { describeError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';

/** The file in which logind keeps a scheduled shutdown (systemd-logind.service(8)). */
export const SCHEDULED_FILE = '/run/systemd/shutdown/scheduled';
/** A shutdown that is scheduled for later than this is not the one that is being prepared. */
export const DUE_MS = 60_000;
const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map(
  Object.entries({ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }),
);

/** Decodes systemd's C-style escapes, in which each byte beyond ASCII is an octal number. */
function unescape(text: string): string {
  const bytes = text.replaceAll(/\\(?:([0-7]{3})|x([0-9a-f]{2})|(.))/g, (_match, octal, hex, char: string) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal as string, 8));
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex as string, 16));
    return SHORT_ESCAPES.get(char) ?? char;
  });
  return bytes === text ? text : Buffer.from(bytes, 'latin1').toString('utf8');
}

/**
 * Parses the lines KEY=VALUE of the file in which logind keeps a scheduled shutdown; missing and invalid values are left
 * out. The result is empty for a shutdown that is not due at `now` (milliseconds since the epoch).
 */
export function parseScheduledFile(text: string, now: number): ShutdownRequester {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    if (at > 0) fields.set(line.slice(0, at), unescape(line.slice(at + 1)).trim());
  }
  if (Number(fields.get('USEC')) / 1000 > now + DUE_MS) return {};
  const kind = shutdownKind(fields.get('MODE'));
  const uid = /^\d{1,10}$/.test(fields.get('UID') ?? '') ? Number(fields.get('UID')) : undefined;
  const tty = fields.get('TTY');
  const wall = fields.get('WALL_MESSAGE');
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(uid === undefined ? {} : { uid }),
    ...(tty === undefined || tty === '' ? {} : { tty }),
    ...(wall === undefined || wall === '' ? {} : { wall }),
  };
}

/**
 * Calls `onChange` when logind writes or removes the file of a scheduled shutdown, until `signal` aborts: systemd before 257
 * sends no signal for it. logind creates the folder with the first schedule, so until then its parent is watched. Events are
 * hints, and a failed watch is not an error: the schedule is also read once a minute.
 */
export function watchScheduledFile(file: string, onChange: () => void, log: Log, signal: AbortSignal): void {
  const folder = path.dirname(file);
  let watcher: FSWatcher | undefined;

  const open = (directory: string, onEvent: () => void): boolean => {
    try {
      const opened = watch(directory, { persistent: false }, onEvent);
      opened.on('error', (error) => {
        log.debug({ directory, reason: describeError(error) }, 'watch on scheduled shutdowns ended');
        opened.close();
      });
      watcher?.close();
      watcher = opened;
      return true;
    } catch (error) {
      log.debug({ directory, reason: describeError(error) }, 'no watch on scheduled shutdowns');
      return false;
    }
  };
  const openFolder = (): boolean => open(folder, onChange);
  const onParent = (): void => {
    if (openFolder()) onChange();
  };
  if (signal.aborted) return;
  signal.addEventListener('abort', () => watcher?.close(), { once: true });
  if (openFolder()) return;
  open(path.dirname(folder), onParent);
  // The folder may have been created between the two watches.
  onParent();
}
