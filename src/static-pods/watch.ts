import type { FSWatcher } from 'chokidar';

/** A watch on the static pod directory that can be switched on and off. Its events are hints: the directory is read anew. */
export interface DirectoryWatch {
  set(wanted: boolean): Promise<void>;
}

/** Makes a watch that is off; chokidar, of which this is the only importer, is loaded when it is first switched on. */
export function createDirectoryWatch(directory: () => string, onChange: () => void): DirectoryWatch {
  let watcher: FSWatcher | undefined;
  return {
    set: async (wanted) => {
      if (wanted === (watcher !== undefined)) return;
      const old = watcher;
      watcher = undefined;
      await old?.close();
      if (!wanted) return;
      const { watch } = await import('chokidar');
      watcher = watch(directory(), { ignoreInitial: true, depth: 0 });
      watcher.on('all', onChange);
      // A directory that goes away is seen, and said, by the next reading of it.
      watcher.on('error', onChange);
    },
  };
}
