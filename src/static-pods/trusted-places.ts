/** Whether root may use the directories of a mover: no other user may be able to replace them. */
import path from 'node:path';
import { describeRefusal, judgePath, type WantedPath } from '../host/files/trusted-path.ts';
import type { MoverPaths } from './places.ts';
import { ARRIVING, LEAVING } from './transfer.ts';

const DIRECTORY: WantedPath = { kind: 'directory', lastLink: 'refuse' };
const LINKED: WantedPath = { kind: 'directory', lastLink: 'follow' };

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
  return refusals.length === 0 ? undefined : [...new Set(refusals)].join('; ');
}
