/** Whether root may use the directories of a mover: no other user may be able to replace them. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { parkedPathProblem } from '../decide/static-pod/overlap.ts';
import { describeRefusal, judgePath, type WantedPath } from '../host/files/trusted-path.ts';
import type { MoverPaths } from './places.ts';
import { ARRIVING, LEAVING } from './transfer.ts';

const DIRECTORY: WantedPath = { kind: 'directory', lastLink: 'refuse' };
const LINKED: WantedPath = { kind: 'directory', lastLink: 'follow' };

/** The path without links; the parts of it that do not exist stay as they are. */
async function resolved(place: string): Promise<string> {
  const found = await realpath(place).catch(() => undefined);
  if (found !== undefined || place === path.dirname(place)) return found ?? place;
  return path.join(await resolved(path.dirname(place)), path.basename(place));
}

/** Why manifests cannot be parked there, with all links followed; undefined if they can. */
export async function overlapOf({
  staticPodPath,
  parkedPath,
  only,
}: Pick<MoverPaths, 'staticPodPath' | 'parkedPath' | 'only'>): Promise<string | undefined> {
  const source = path.join(await resolved(staticPodPath), only ?? '');
  const problem = parkedPathProblem(source, await resolved(parkedPath));
  if (problem === undefined) return undefined;
  return `${parkedPath} ${problem}; set the key parkedPath to a directory outside of it, or remove the key`;
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
    for (const name of [LEAVING, ARRIVING]) verdicts.push(await judgePath(path.join(directory, name), DIRECTORY));
  }
  const refusals = verdicts.flatMap((verdict) => (verdict.kind === 'refused' ? [describeRefusal(verdict)] : []));
  const overlap = await overlapOf(paths);
  if (overlap !== undefined) refusals.push(overlap);
  return refusals.length === 0 ? undefined : [...new Set(refusals)].join('; ');
}
