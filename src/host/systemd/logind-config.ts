import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type ConfigFile, orderDropIns } from '../../decide/machine/logind-delay.ts';

/** The configuration directories of systemd; the first has the highest precedence (logind.conf(5)). */
const ROOTS = ['/etc/systemd', '/run/systemd', '/usr/local/lib/systemd', '/usr/lib/systemd'];

async function readOptional(file: string, signal: AbortSignal): Promise<ConfigFile | undefined> {
  try {
    return { path: file, text: await readFile(file, { encoding: 'utf8', signal }) };
  } catch {
    // If it is missing or not readable, logind cannot read it either.
    signal.throwIfAborted();
    return undefined;
  }
}

/** Reads logind's configuration files, in the order in which logind reads them; `root` is the root of the file system. */
export async function readLogindConfig(root: string, signal: AbortSignal): Promise<readonly ConfigFile[]> {
  const names = new Map<string, readonly string[]>();
  const directories = ROOTS.map((directory) => path.join(root, directory, 'logind.conf.d'));
  for (const directory of directories) names.set(directory, await readdir(directory).catch(() => []));
  signal.throwIfAborted();
  const files: ConfigFile[] = [];
  for (const directory of ROOTS) {
    const main = await readOptional(path.join(root, directory, 'logind.conf'), signal);
    if (main === undefined) continue;
    files.push(main);
    break;
  }
  for (const file of orderDropIns(directories, (directory) => names.get(directory) ?? [])) {
    const dropIn = await readOptional(file, signal);
    if (dropIn !== undefined) files.push(dropIn);
  }
  return files;
}
