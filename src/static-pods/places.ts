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

/**
 * Finds the directories for a configuration. Links to the static pod directory are followed. Manifests are parked in the
 * configured directory, else in `nodemaint-parked` beside the static pod directory.
 *
 * A missing static pod path is taken for a directory, unless a manifest of its name is parked. Throws the errors of Node.js
 * for paths that cannot be read.
 */
export async function findPlaces(configured: ConfiguredPlaces): Promise<MoverPaths> {
  const given = path.resolve(configured.staticPodPath);
  const journalPath = path.join(configured.stateDirectory, 'journal');
  const parkedFor = (directory: string): string =>
    configured.parkedPath ?? path.join(path.dirname(directory), PARKED_NAME);
  const stats = await unlessMissing(stat(given));
  const isParkedFile = async (): Promise<boolean> =>
    (await unlessMissing(stat(path.join(parkedFor(given), path.basename(given)))))?.isFile() === true;
  const isOneFile = stats === undefined ? await isParkedFile() : !stats.isDirectory();
  const directory = isOneFile ? path.dirname(given) : given;
  const staticPodPath = (await unlessMissing(realpath(directory))) ?? directory;
  const linked = staticPodPath === directory ? {} : { linkedFrom: directory };
  const parkedPath = parkedFor(isOneFile ? given : staticPodPath);
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
