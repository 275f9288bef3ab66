import { NodemaintError } from '../../errors.ts';
import type { ClusterStatusFlags } from './cluster.ts';
import { columnsOf, type ObjectOutput, type Terminal } from '../terminal/terminal.ts';
import { formatStatus } from './agent-table.ts';
import { readStatus } from '../../agent/control/client.ts';
import { formatDocument } from '../terminal/document.ts';

/** `nodemaint status` of this machine: what its agent does and waits for, as text. */
async function statusCommand(
  runDirectory: string,
  output: ObjectOutput,
  terminal: Pick<Terminal, 'now' | 'isTerminal' | 'size'>,
): Promise<string> {
  const status = await readStatus(runDirectory);
  if (output === 'name') return `node/${status.node}\n`;
  return output === 'table'
    ? formatStatus(status, terminal.now(), columnsOf(terminal))
    : formatDocument('AgentStatus', status, output);
}

/** The flags of `nodemaint status` as the command line has them. */
export interface StatusFlags extends ClusterStatusFlags {
  readonly runDirectory: string;
}

/**
 * `nodemaint status [NODE|NM]`: this machine's agent where nothing is named and one runs, else the cluster. Returns the exit
 * code. Throws CONTROL_SOCKET_UNAVAILABLE where there is neither an agent nor a kubeconfig.
 */
export async function statusOf(name: string | undefined, flags: StatusFlags, terminal: Terminal): Promise<number> {
  const isLocal = name === undefined && flags.kubeconfig === undefined && flags.context === undefined;
  if (isLocal && flags.watch === true) throw new NodemaintError('USAGE', '--watch needs a node or a maintenance');
  const { clusterStatusCommand } = await import('./cluster.ts');
  if (!isLocal) return await clusterStatusCommand(name, flags, terminal);
  try {
    terminal.write(await statusCommand(flags.runDirectory, flags.output, terminal));
    return 0;
  } catch (agentError) {
    if (!(agentError instanceof NodemaintError) || agentError.code !== 'CONTROL_SOCKET_UNAVAILABLE') throw agentError;
    try {
      return await clusterStatusCommand(undefined, flags, terminal);
    } catch (error) {
      // Without a kubeconfig, the person asked for the agent.
      if (error instanceof NodemaintError && error.code === 'USAGE') throw agentError;
      throw error;
    }
  }
}
