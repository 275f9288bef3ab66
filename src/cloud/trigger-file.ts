import { constants, type FSWatcher, watch } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import type { NoticeSource } from './notice-source.ts';
import type { Clock } from '../host/clock.ts';

/** The file is read at least this often, for file systems that report no changes. */
const POLL_MS = 30_000;
const MAX_BYTES = 4096;
const MAX_REASON = 1000;

/** The first line of the file, without control characters; undefined if there is no file. */
async function firstLine(file: string): Promise<string | undefined> {
  try {
    // A FIFO that nobody writes to would hold a thread of the program for good.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await handle.stat()).isFile()) return undefined;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    const [line = ''] = buffer.toString('utf8', 0, bytesRead).split('\n', 1);
    return line
      .replaceAll(/[\p{C}\s]+/gu, ' ')
      .trim()
      .slice(0, MAX_REASON);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * A source with a notice as long as the file exists; the first line of the file is the reason. Its folder is watched until
 * `lifetime` aborts. The first `read` returns at once, a later one when the folder has changed.
 */
export function triggerFileSource(file: string, clock: Clock, lifetime: AbortSignal): NoticeSource {
  let watcher: FSWatcher | undefined;
  let changed = true;
  let wake: (() => void) | undefined;
  const onChange = (): void => {
    changed = true;
    wake?.();
  };
  const keepWatching = (): void => {
    if (watcher !== undefined) return;
    try {
      watcher = watch(path.dirname(file), { signal: lifetime }, onChange);
      // The folder was removed; the next read watches the new one.
      watcher.on('error', () => {
        watcher = undefined;
      });
    } catch {
      // The folder does not exist yet; the file is polled.
    }
  };
  const wait = async (signal: AbortSignal): Promise<void> => {
    const woken = new AbortController();
    wake = () => {
      woken.abort();
    };
    try {
      await clock.sleep(POLL_MS, AbortSignal.any([signal, woken.signal]));
    } catch {
      signal.throwIfAborted();
    } finally {
      wake = undefined;
    }
  };
  return {
    name: `file ${file}`,
    everyMs: 0,
    read: async (signal) => {
      if (!changed) await wait(signal);
      keepWatching();
      changed = false;
      const reason = await firstLine(file);
      if (reason === undefined) return [];
      return [{ id: 'file', kind: 'terminate', reason: reason === '' ? `${file} exists` : reason, provider: 'file' }];
    },
  };
}
