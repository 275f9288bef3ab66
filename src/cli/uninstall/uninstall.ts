import { createSystemClock } from '../../host/clock.ts';
import { createKubeClient } from '../../kube/client.ts';
import { loadUserAccess } from '../../kube/access/user.ts';
import { parseTime } from '../arguments.ts';
import { EXIT } from '../terminal/exit-code.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { releaseCluster } from './release-cluster.ts';

/** The flags of `nodemaint uninstall-cluster`. */
export interface UninstallFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly timeout: string;
  readonly force?: boolean;
}

/**
 * `nodemaint uninstall-cluster`: removes the DaemonSet gate, completes and deletes all maintenances and releases the gated
 * pods, before the manifests are deleted. Returns the exit code: 0, or 3 where maintenances are left after the
 * timeout. Throws USAGE for a bad flag; KUBECONFIG_INVALID, API_UNREACHABLE, API_REFUSED.
 */
export async function uninstallClusterCommand(flags: UninstallFlags, terminal: Terminal): Promise<number> {
  const timeoutMs = parseTime(flags.timeout, '--timeout');
  const client = createKubeClient(await loadUserAccess(flags), 'nodemaint-uninstall');
  try {
    const say = (text: string): void => {
      terminal.write(`${text}\n`);
    };
    const context = { client, clock: createSystemClock(), say };
    const left = await releaseCluster(context, { timeoutMs, force: flags.force === true }, terminal.stop);
    if (left.length > 0) {
      terminal.warn(
        `nodemaint: after ${flags.timeout} these maintenances are left: ${left.join(', ')}. The controller completes them; if it is gone for good, use --force.\n`,
      );
      return EXIT.timedOut;
    }
    say(
      'All maintenances are ended and all pods are released. Now delete the rest: kubectl delete -k manifests --ignore-not-found',
    );
    return EXIT.done;
  } finally {
    client.close();
  }
}
