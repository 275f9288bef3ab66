import type { StuckManifest } from '../../decide/static-pod/moves.ts';

/** Manifests in place that the disk does not let go: full, read-only, broken, or on a file system that takes no copy. */
export interface StuckManifests {
  /** A move failed; returns whether that is news. */
  failed(file: string, reason: string): boolean;
  moved(file: string): void;
  /** Forgets all but these. */
  keep(files: ReadonlySet<string>): void;
  /** What is known now, by file. */
  list(): ReadonlyMap<string, StuckManifest>;
}

/** So long a move is tried again before a shutdown goes on without it. */
const LASTING_MS = 5_000;

/** Makes an empty list; `monotonicNow` gives milliseconds. */
export function createStuckManifests(monotonicNow: () => number): StuckManifests {
  const stuck = new Map<string, { readonly reason: string; readonly since: number }>();
  return {
    failed: (file, reason) => {
      const known = stuck.get(file);
      stuck.set(file, { reason, since: known?.since ?? monotonicNow() });
      return known?.reason !== reason;
    },
    moved: (file) => {
      stuck.delete(file);
    },
    keep: (files) => {
      for (const file of stuck.keys()) if (!files.has(file)) stuck.delete(file);
    },
    list: () =>
      new Map(
        [...stuck].map(([file, { reason, since }]) => [
          file,
          { reason, isLasting: monotonicNow() - since >= LASTING_MS },
        ]),
      ),
  };
}
