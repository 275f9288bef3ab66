import { releaseCluster } from './release-cluster.ts';
import { NodemaintError } from '../../errors.ts';
import { createSystemClock } from '../../host/clock.ts';
import { createKubeClient } from '../../kube/client.ts';
import { loadUserAccess } from '../../kube/access/user.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** The flags of `nodemaint uninstall-cluster`. */
export interface UninstallFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly timeout: string;
  readonly force?: boolean;
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;
const TIMED_OUT = 3;

/**
 * `nodemaint uninstall-cluster`: completes and deletes all maintenances, takes the gate away and releases what it held, as
 * the step before the manifests are deleted. Returns the exit code: 0, or 3 where maintenances are left after the
 * timeout. Throws USAGE for a bad flag; KUBECONFIG_INVALID, API_UNREACHABLE, API_REFUSED.
 */
export async function uninstallClusterCommand(flags: UninstallFlags, terminal: Terminal): Promise<number> {
  const [, count, unit] = /^(\d{1,6})([smh])$/.exec(flags.timeout) ?? [];
  if (count === undefined) {
    throw new NodemaintError('USAGE', '--timeout: write a number and its unit, such as 90s, 20m or 1h');
  }
  const timeoutMs = Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  const client = createKubeClient(await loadUserAccess(flags), 'nodemaint-uninstall');
  try {
    const say = (text: string): void => {
      terminal.write(`${text}\n`);
    };
    const context = { client, clock: createSystemClock(), say };
    const left = await releaseCluster(context, { timeoutMs, force: flags.force === true }, terminal.stop);
    if (left.length > 0) {
      terminal.warn(
        `nodemaint: after ${flags.timeout} these maintenances are still there: ${left.join(', ')}. Their controller completes them; where it is gone for good, --force does without it.\n`,
      );
      return TIMED_OUT;
    }
    say('Nothing is held any more. Now take the rest off: kubectl delete -k manifests --ignore-not-found');
    return 0;
  } finally {
    client.close();
  }
}
