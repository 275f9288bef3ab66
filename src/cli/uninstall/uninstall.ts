import { counted } from '../../decide/counted.ts';
import { createSystemClock } from '../../host/clock.ts';
import { type AccessFlags, openUserCluster } from '../cluster/open-user-cluster.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { listAll } from '../../kube/list.ts';
import { collectionPath, NODE_MAINTENANCES } from '../../kube/resource.ts';
import type { DryRun } from '../arguments/options.ts';
import { isConfirmed } from '../terminal/confirm.ts';
import { parseTime, usage } from '../arguments/parse.ts';
import { EXIT } from '../terminal/exit-code.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { releaseCluster } from './release-cluster.ts';

/** The flags of `nodemaint uninstall-cluster`. */
export interface UninstallFlags extends AccessFlags {
  readonly timeout: string;
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly dryRun?: DryRun | undefined;
}

/**
 * `nodemaint uninstall-cluster`: removes the DaemonSet gate, completes and deletes all maintenances, releases the gated
 * pods and takes the rights away, before the manifests are deleted. Returns the exit code: 0, or 3 where maintenances are left after the
 * timeout. Throws USAGE for a bad flag; KUBECONFIG_INVALID, API_UNREACHABLE, API_REFUSED.
 */
export async function uninstallClusterCommand(flags: UninstallFlags, terminal: Terminal): Promise<number> {
  const timeoutMs = parseTime(flags.timeout, '--timeout');
  if (flags.yes !== true && flags.dryRun === undefined && !terminal.isTerminal) {
    throw usage('uninstall-cluster ends all maintenances of a cluster: write --yes, or look first with --dry-run');
  }
  const { access, client } = await openUserCluster(flags, 'nodemaint-uninstall', terminal);
  try {
    const say = (text: string): void => {
      terminal.write(`${text}\n`);
    };
    if (flags.yes !== true) {
      const { items } = await listAll<NodeMaintenance>(
        client,
        { path: collectionPath(NODE_MAINTENANCES), query: {}, absent: [404] },
        (object) => object,
        terminal.stop,
      );
      const names = items.map(({ metadata, spec }) => `${metadata.name} (${spec.stage ?? 'Idle'})`);
      const count = counted(names.length, 'maintenance', 'maintenances');
      const what = names.length === 0 ? 'no maintenance' : `${count}: ${names.join(', ')}`;
      const [ends, removes] = flags.dryRun === undefined ? ['ends', 'removes'] : ['would end', 'remove'];
      say(
        `This ${ends} ${what}, and ${removes} the DaemonSet gate and the rights of controller and nodes, in the cluster ${access.server.origin}.`,
      );
      if (flags.dryRun !== undefined) return EXIT.done;
      if (!(await isConfirmed(terminal))) {
        terminal.warn('nodemaint: nothing was done\n');
        return EXIT.failed;
      }
    }
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
