/** Whether root may move manifests through the directories of a mover: nobody else can put others in their place. */
import path from 'node:path';
import { describeRefusal, judgePath, type WantedPath } from '../host/files/trusted-path.ts';
import type { MoverPaths } from './places.ts';
import { ARRIVING, LEAVING } from './transfer.ts';

const DIRECTORY: WantedPath = { kind: 'directory', lastLink: 'refuse' };
const LINKED: WantedPath = { kind: 'directory', lastLink: 'follow' };

/**
 * Says what is wrong with the directories, each with the command that puts it right; undefined where nothing is. Those that
 * are missing are fine where nobody but root can make them.
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
