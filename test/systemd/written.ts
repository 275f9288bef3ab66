/** What the programs in a container have written, and nothing that another program of this machine makes meanwhile. */
import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { type SystemContainer, WRITTEN } from './container.ts';

/** The folders of a system in which an installation leaves something. */
const FOLDERS = ['etc', 'usr', 'opt', 'var/lib', 'var/cache'].map((folder) => path.join(WRITTEN, folder));
/** It has a file system of its own. */
const RUN = '/run';
/** Lists what has the name of the program; the lock of install.sh stays. */
const NAMED = '-name "*nodemaint*" ! -name nodemaint-install.lock';

async function isOfMachine(place: string): Promise<boolean> {
  return await lstat(place).then(
    () => true,
    () => false,
  );
}

/**
 * The paths, in their order, that were written in a container over the file system of this machine and have the program's
 * name, or are found by `more`, an expression of find. Folders that the machine has, too, are not among them.
 */
export async function writtenByProgram(container: SystemContainer, more = ''): Promise<readonly string[]> {
  const wanted = more === '' ? NAMED : `\\( ${NAMED} -o ${more} \\)`;
  const found = await container.must(`find ${FOLDERS.join(' ')} ${RUN} ${wanted} 2>/dev/null | sort`);
  const places = found.split('\n').filter((place) => place !== '');
  const own: string[] = [];
  for (const place of places) {
    const inWritten = place.startsWith(`${WRITTEN}/`);
    if (!inWritten) own.push(place);
    else if (!(await isOfMachine(place.slice(WRITTEN.length)))) own.push(place.slice(WRITTEN.length));
  }
  return own;
}
