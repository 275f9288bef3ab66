/** `nodemaint check`: whether the cluster's side is set up so that shutdowns wait for their pods. */
import { examineCluster } from '../../show/checks/cluster-checks.ts';
import { createSystemClock } from '../../host/clock.ts';
import { type ClusterFlags, withCluster } from '../cluster/cluster.ts';
import { printChecks } from '../terminal/checks.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { readClusterFacts } from './facts.ts';

/** Checks the cluster. Returns the exit code: 1 where a check fails. Throws USAGE, KUBECONFIG_INVALID and API_UNREACHABLE. */
export async function checkCommand(flags: ClusterFlags, terminal: Terminal): Promise<number> {
  return await withCluster(flags, 'nodemaint-check', terminal, async ({ client }) => {
    const facts = await readClusterFacts(client, createSystemClock(), terminal.stop);
    return printChecks(examineCluster(facts), flags.output, terminal);
  });
}
