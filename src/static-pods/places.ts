/** Where manifests lie, in place and parked. */
import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorCodeOf } from '../errors.ts';

/** What is configured about them. */
export interface ConfiguredPlaces {
  readonly staticPodPath: string;
  readonly parkedPath?: string | undefined;
  readonly stateDirectory: string;
}

const BESIDE = 'nodemaint-parked';

async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(String(errorCodeOf(error)))) return undefined;
    throw error;
  }
}

/** The device of a path, or of what is there above it. */
async function deviceOf(place: string): Promise<number | undefined> {
  const stats = await unlessMissing(stat(place));
  if (stats !== undefined || place === path.dirname(place)) return stats?.dev;
  return await deviceOf(path.dirname(place));
}

/**
 * Finds the places of a configuration. Links to the static pod directory are followed. Manifests are parked in the first
 * of the configured directory and `nodemaint-parked` beside the static pod directory that is on its file system, where a
 * rename reaches; if neither is, in the first of them, by copying. A directory within the static pod directory's own
 * mount would be the only other one: a rename never goes from one mount to another (rename(2), EXDEV).
 *
 * A static pod path that is missing is a directory, unless a manifest of its name is parked. Throws the errors of
 * Node.js for paths that cannot be looked at.
 */
export async function findPlaces(configured: ConfiguredPlaces): Promise<MoverPaths> {
  const given = path.resolve(configured.staticPodPath);
  const journalPath = path.join(configured.stateDirectory, 'journal');
  const candidatesFor = (directory: string): readonly string[] => {
    const beside = path.join(path.dirname(directory), BESIDE);
    return configured.parkedPath === undefined ? [beside] : [configured.parkedPath, beside];
  };
  const choose = async (directory: string, candidates: readonly string[]): Promise<string> => {
    const device = await deviceOf(directory);
    for (const candidate of candidates) if ((await deviceOf(candidate)) === device) return candidate;
    return candidates[0] ?? directory;
  };

  const stats = await unlessMissing(stat(given));
  const fileCandidates = candidatesFor(given);
  const isParkedFile = async (): Promise<boolean> => {
    for (const candidate of fileCandidates) {
      if ((await unlessMissing(stat(path.join(candidate, path.basename(given)))))?.isFile() === true) return true;
    }
    return false;
  };
  const isOneFile = stats === undefined ? await isParkedFile() : !stats.isDirectory();
  const directory = isOneFile ? path.dirname(given) : given;
  const staticPodPath = (await unlessMissing(realpath(directory))) ?? directory;
  const linked = staticPodPath === directory ? {} : { linkedFrom: directory };
  const parkedPath = await choose(staticPodPath, isOneFile ? fileCandidates : candidatesFor(staticPodPath));
  const only = isOneFile ? { only: path.basename(given) } : {};
  return { staticPodPath, parkedPath, journalPath, ...only, ...linked };
}

/** The places that the mover moves between. */
export interface MoverPaths {
  /** The directory that the manifests are in; where the kubelet's staticPodPath is a file, the one that file is in. */
  readonly staticPodPath: string;
  readonly parkedPath: string;
  readonly journalPath: string;
  /** Where steps are kept that the journal's disk does not take: a file that outlives the agent and not the boot. */
  readonly journalStandIn?: string;
  /** The one manifest there is where the kubelet's staticPodPath is a file. */
  readonly only?: string;
  /** The path that was configured for the directory, where symbolic links lead from it to `staticPodPath`. */
  readonly linkedFrom?: string;
}
