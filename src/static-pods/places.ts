/** The directories of manifests, in place and parked. */
import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorCodeOf } from '../errors.ts';

/** The configuration of these directories. */
interface ConfiguredPlaces {
  readonly staticPodPath: string;
  readonly parkedPath?: string | undefined;
  readonly stateDirectory: string;
}

const PARKED_NAME = 'nodemaint-parked';

async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(String(errorCodeOf(error)))) return undefined;
    throw error;
  }
}

/** The device of a path, or of the nearest directory above it that exists. */
async function deviceOf(file: string): Promise<number | undefined> {
  const stats = await unlessMissing(stat(file));
  if (stats !== undefined || file === path.dirname(file)) return stats?.dev;
  return await deviceOf(path.dirname(file));
}

/**
 * Finds the directories for a configuration. Links to the static pod directory are followed. Candidates for parked manifests
 * are the configured directory and `nodemaint-parked` beside the static pod directory. The first one on the file system of
 * the static pod directory is chosen, because rename works there; if there is none, the first candidate, and manifests are
 * copied. (Rename never works between two mounts, even of one file system: rename(2), EXDEV.)
 *
 * A missing static pod path is taken for a directory, unless a manifest of its name is parked. Throws the errors of Node.js
 * for paths that cannot be read.
 */
export async function findPlaces(configured: ConfiguredPlaces): Promise<MoverPaths> {
  const given = path.resolve(configured.staticPodPath);
  const journalPath = path.join(configured.stateDirectory, 'journal');
  const candidatesFor = (directory: string): readonly string[] => {
    const sibling = path.join(path.dirname(directory), PARKED_NAME);
    return configured.parkedPath === undefined ? [sibling] : [configured.parkedPath, sibling];
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

/** The directories and files of the mover. */
export interface MoverPaths {
  /** The directory of the manifests in place. If the kubelet's staticPodPath is a file, the directory of that file. */
  readonly staticPodPath: string;
  readonly parkedPath: string;
  readonly journalPath: string;
  /** A file for journal steps that cannot be written to the disk; it survives the agent but not a reboot. */
  readonly journalStandIn?: string;
  /** The name of the only manifest, if the kubelet's staticPodPath is a file. */
  readonly only?: string;
  /** The configured path of the directory, if symbolic links lead from it to `staticPodPath`. */
  readonly linkedFrom?: string;
}
