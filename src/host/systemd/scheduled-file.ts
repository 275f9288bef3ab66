import { type FSWatcher, watch } from 'node:fs';
import path from 'node:path';
import { describeError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';

/** The file in which logind keeps a scheduled shutdown (systemd-logind.service(8)). */
export const SCHEDULED_FILE = '/run/systemd/shutdown/scheduled';

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
