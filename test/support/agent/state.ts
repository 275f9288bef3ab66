import path from 'node:path';
import { openStateFiles, type StateDisk, type StateFiles } from '../../../src/host/files/state-files.ts';

/** The agent's memory in `folder`, with what the disk does not take in `folder`/run. */
export async function openTestState(folder: string, disk?: StateDisk): Promise<StateFiles> {
  const places = { directory: folder, runDirectory: path.join(folder, 'run') };
  return await openStateFiles(disk === undefined ? places : { ...places, disk });
}
