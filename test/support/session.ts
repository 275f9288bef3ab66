/**
 * A process in the session of a user, as over SSH, is no kubelet for the agent, and what a test starts is in the session of
 * the person who runs the test. As root, a test leaves the session before it starts a kubelet.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

const CONTROL_GROUPS = '/sys/fs/cgroup';

/** The folder of a hierarchy of control groups, by its controllers as in /proc/self/cgroup; '' is version 2. */
function hierarchyOf(controllers: string): string {
  if (controllers !== '') return path.join(CONTROL_GROUPS, controllers.replace('name=', ''));
  return existsSync(`${CONTROL_GROUPS}/unified`) ? `${CONTROL_GROUPS}/unified` : CONTROL_GROUPS;
}

function enter(group: string): void {
  // 0 is the process that writes.
  writeFileSync(path.join(group, 'cgroup.procs'), '0');
}

/**
 * Moves this process, with all that it starts from now on, into a control group outside of the session in which it is, until
 * it ends. Another user than root stays where it is: for it the agent trusts a kubelet in its own session.
 */
export function leaveSession(): void {
  if (process.geteuid?.() !== 0) return;
  for (const line of readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n')) {
    const [, controllers = '', own = ''] = line.split(':');
    if (!own.startsWith('/user.slice/')) continue;
    const hierarchy = hierarchyOf(controllers);
    const group = path.join(hierarchy, `nodemaint-test-${crypto.randomUUID()}`);
    mkdirSync(group);
    enter(group);
    process.once('exit', () => {
      enter(path.join(hierarchy, own));
      rmdirSync(group);
    });
  }
}
