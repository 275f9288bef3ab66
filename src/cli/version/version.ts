/** `nodemaint version`: the version of this program, of the controller, and of the agents. */
import { counted } from '../../decide/counted.ts';
import process from 'node:process';
import { describeError } from '../../errors.ts';
import type { AccessFlags } from '../cluster/open-user-cluster.ts';
import { commit, VERSION } from '../../version.ts';
import { withCluster } from '../cluster/cluster.ts';
import { readFleet } from '../cluster/fleet.ts';
import { formatDocument } from '../terminal/document.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** The flags of `nodemaint version`. */
export interface VersionFlags extends AccessFlags {
  readonly client?: boolean;
  readonly output: 'text' | 'json' | 'yaml';
}

interface ClusterVersions {
  /** '' where it is not known. */
  readonly controller: string;
  /** How many agents have each version. */
  readonly agents: Readonly<Record<string, number>>;
}

const READ_MS = 10_000;

async function readVersions(flags: VersionFlags, terminal: Terminal): Promise<ClusterVersions> {
  const signal = AbortSignal.any([terminal.stop, AbortSignal.timeout(READ_MS)]);
  return await withCluster(flags, 'nodemaint-version', terminal, async ({ client }) => {
    const { nodes, controller } = await readFleet(client, '', terminal.now(), signal);
    const agents = new Map<string, number>();
    for (const { agent } of nodes) {
      if (agent !== undefined) agents.set(agent.version, (agents.get(agent.version) ?? 0) + 1);
    }
    return { controller: controller ?? '', agents: Object.fromEntries(agents) };
  });
}

function textOf(cluster: ClusterVersions | string | undefined): string {
  const own = `nodemaint ${VERSION}${commit() === '' ? '' : ` (commit ${commit()})`}, Node.js ${process.versions.node}\n`;
  if (cluster === undefined) return own;
  if (typeof cluster === 'string') return `${own}The cluster is not known: ${cluster}\n`;
  const agents = Object.entries(cluster.agents).map(
    ([version, count]) => `${version} on ${counted(count, 'node', 'nodes')}`,
  );
  const controller = cluster.controller === '' ? 'unknown' : cluster.controller;
  return `${own}Controller: ${controller}\nAgents: ${agents.length === 0 ? 'none has reported' : agents.join(', ')}\n`;
}

/** Prints the versions; a cluster that cannot be asked is said to be unknown and is no failure. */
export async function versionCommand(flags: VersionFlags, terminal: Terminal): Promise<void> {
  const cluster =
    flags.client === true
      ? undefined
      : await readVersions(flags, terminal).catch((error: unknown) => {
          terminal.stop.throwIfAborted();
          return describeError(error);
        });
  if (flags.output === 'text') {
    terminal.write(textOf(cluster));
    return;
  }
  const own = { version: VERSION, commit: commit(), node: process.versions.node };
  const rest = typeof cluster === 'string' ? { problem: cluster } : (cluster ?? {});
  terminal.write(formatDocument('Versions', { client: own, ...rest }, flags.output));
}
