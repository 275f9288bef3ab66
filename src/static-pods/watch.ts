import type { FSWatcher } from 'chokidar';

/** A watch on the static pod directory that can be switched on and off. Its events are hints to read the directory again. */
interface DirectoryWatch {
  set(wanted: boolean): Promise<void>;
}

/** Creates a watch that is off. chokidar, which only this file imports, is loaded when it is first switched on. */
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
      // The next read of a removed directory reports the error.
      watcher.on('error', onChange);
    },
  };
}
