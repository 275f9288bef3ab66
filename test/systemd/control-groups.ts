/** Control groups for a systemd of a test, below the one of this process. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { waitFor } from '../support/wait-for.ts';

const CONTROL_GROUPS = '/sys/fs/cgroup';
const GONE_MS = 5_000;

/** The controllers of cgroup v1 that systemd uses for its units: a systemd mounts those that it does not find. */
const CONTROLLERS = ['cpu', 'cpuacct', 'blkio', 'memory', 'devices', 'pids'];

/**
 * The control groups in which this process is, in each hierarchy that systemd uses. In one that is left out, all systemds
 * of this machine would share the groups of their units, with the limits of each other.
 */
async function ownControlGroups(): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/cgroup', 'utf8')).trim().split('\n');
  const unified = existsSync(`${CONTROL_GROUPS}/unified`) ? 'unified' : '';
  const rootOf = (controllers: string): string | undefined => {
    if (controllers === '') return unified;
    if (controllers === 'name=systemd') return 'systemd';
    return controllers.split(',').some((each) => CONTROLLERS.includes(each)) ? controllers : undefined;
  };
  return lines.flatMap((line) => {
    const [, controllers = '', own = '/'] = line.split(':');
    const root = rootOf(controllers);
    return root === undefined ? [] : [path.join(CONTROL_GROUPS, root, own)];
  });
}

/** Takes a control group away with all below it, which are empty. */
async function removeControlGroup(group: string): Promise<void> {
  for (const entry of await readdir(group, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeControlGroup(path.join(group, entry.name));
  }
  await rmdir(group);
}

/**
 * Makes control groups of this name for a systemd, which moves all processes of the group in which it begins. `stack`
 * takes them away again, when what was in them has ended.
 */
export async function makeControlGroups(name: string, stack: AsyncDisposableStack): Promise<readonly string[]> {
  const groups = (await ownControlGroups()).map((own) => path.join(own, name));
  for (const group of groups) {
    await mkdir(group);
    stack.defer(async () => {
      const remove = async (): Promise<boolean> => (await removeControlGroup(group).catch(() => group)) === undefined;
      await waitFor('the control group is empty', remove, { timeoutMs: GONE_MS });
    });
  }
  return groups;
}
