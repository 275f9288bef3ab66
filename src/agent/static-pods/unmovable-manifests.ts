import type { StuckManifest } from '../../decide/static-pod/moves.ts';

/** Manifests in place that cannot be moved because of the disk: it is full, read-only or broken, or takes no copy. */
export interface StuckManifests {
  /** Notes that a move failed; returns whether the reason is new. */
  failed(file: string, reason: string): boolean;
  moved(file: string): void;
  /** Forgets all but these. */
  keep(files: ReadonlySet<string>): void;
  /** The manifests that are stuck now, by file. */
  list(): ReadonlyMap<string, StuckManifest>;
}

/** After this time of failed moves a shutdown continues without the move. */
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
