/** Whether root may use the directories of a mover: no other user may be able to replace them. */
import { constants } from 'node:fs';
import { open, readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import { parkedPathProblem } from '../decide/static-pod/overlap.ts';
import { describeRefusal, judgePath, type WantedPath } from '../host/files/trusted-path.ts';
import { LEAVING } from './file-moves.ts';
import type { MoverPaths } from './places.ts';

const DIRECTORY: WantedPath = { kind: 'directory', lastLink: 'refuse' };
const LINKED: WantedPath = { kind: 'directory', lastLink: 'follow' };

/** The path without links; the parts of it that do not exist stay as they are. */
async function resolved(place: string): Promise<string> {
  const found = await realpath(place).catch(() => undefined);
  if (found !== undefined || place === path.dirname(place)) return found ?? place;
  return path.join(await resolved(path.dirname(place)), path.basename(place));
}

/**
 * The mount and the device that a place is on, or the nearest directory above it that exists: only within both does a rename
 * work, also where one file system has two mounts, or two subvolumes.
 */
async function mountOf(place: string): Promise<string> {
  const handle = await open(place, constants.O_RDONLY | constants.O_DIRECTORY).catch(() => undefined);
  if (handle === undefined && place !== path.dirname(place)) return await mountOf(path.dirname(place));
  if (handle === undefined) return '';
  await using opened = handle;
  const info = await readFile(`/proc/self/fdinfo/${opened.fd}`, 'utf8');
  return `${(await opened.stat()).dev} ${/^mnt_id:\s*(\d+)$/m.exec(info)?.[1]}`;
}

/** Why manifests cannot be parked there, with all links followed; undefined if they can. */
export async function parkingProblem({
  staticPodPath,
  parkedPath,
  only,
}: Pick<MoverPaths, 'staticPodPath' | 'parkedPath' | 'only'>): Promise<string | undefined> {
  const [statics, parked] = [await resolved(staticPodPath), await resolved(parkedPath)];
  const overlap = parkedPathProblem(path.join(statics, only ?? ''), parked);
  if (overlap !== undefined) {
    return `${parkedPath} ${overlap}; set the key parkedPath to a directory outside of it, or remove the key`;
  }
  if ((await mountOf(statics)) === (await mountOf(parked))) return undefined;
  const fix = 'give back what is parked there, and set the key parkedPath to a directory beside it, or remove the key';
  return `${parkedPath} is on another file system or mount than the static pods, ${staticPodPath}, so that no manifest can be renamed to it; ${fix}`;
}

/**
 * Describes why the directories are not trusted, each with the command that fixes it; undefined if all are. A missing
 * directory is trusted if only root can create it.
 */
export async function untrustedPlace(paths: MoverPaths): Promise<string | undefined> {
  const { staticPodPath, parkedPath, linkedFrom } = paths;
  const verdicts = linkedFrom === undefined ? [] : [await judgePath(linkedFrom, LINKED)];
  for (const directory of [staticPodPath, parkedPath]) {
    verdicts.push(await judgePath(directory, DIRECTORY));
  }
  verdicts.push(await judgePath(path.join(staticPodPath, LEAVING), DIRECTORY));
  const refusals = verdicts.flatMap((verdict) => (verdict.kind === 'refused' ? [describeRefusal(verdict)] : []));
  const problem = await parkingProblem(paths);
  if (problem !== undefined) refusals.push(problem);
  return refusals.length === 0 ? undefined : [...new Set(refusals)].join('; ');
}
