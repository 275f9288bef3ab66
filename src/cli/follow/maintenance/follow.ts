import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import { agentNodeOf } from '../../../decide/maintenance/maintenance.ts';
import { createSystemClock } from '../../../host/clock.ts';
import type { ChangeFlags, ClusterClients } from '../../cluster/cluster.ts';
import { commandLine } from '../../cluster/command-line.ts';
import type { UserAccessFlags } from '../../../kube/access/user.ts';
import { EXIT } from '../../terminal/exit-code.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { drainOutput } from './output.ts';
import { STOP_REASONS } from '../follower.ts';
import { type DrainWatchResult, type DrainWatchTarget, watchDrains } from './watch.ts';

/**
 * Watches maintenances to their end, `timeoutMs` milliseconds at most (undefined: no limit), and says how each ended. Returns the
 * worst exit code (docs/reference/commands.md).
 */
export async function followMaintenances(
  { client }: Pick<ClusterClients, 'client'>,
  followed: readonly DrainWatchTarget[],
  { timeoutMs, ...flags }: ChangeFlags & { readonly timeoutMs: number | undefined },
  terminal: Terminal,
): Promise<number> {
  const context = { client, clock: createSystemClock(), ...drainOutput(terminal, flags.output) };
  const results = await watchDrains(followed, context, timeoutMs, terminal.stop);
  const codes = results.map((result) => concludeFollow(result, flags, terminal));
  return codes.includes(EXIT.failed) ? EXIT.failed : Math.max(...codes);
}

/** Says how following the maintenance ended; the exit code. */
export function concludeFollow(
  { maintenance, ending, view }: DrainWatchResult,
  flags: ChangeFlags,
  terminal: Pick<Terminal, 'say' | 'warn'>,
): number {
  const left = (view?.nodes ?? []).filter(({ drained }) => !drained).map((node) => node.name);
  const notYet = left.length === 0 ? '' : `; not drained yet: ${nodeList(left)}`;
  switch (ending) {
    case 'drained':
      if (flags.output === 'table') terminal.say(endOf(maintenance, flags));
      return EXIT.done;
    case 'completed':
    case 'deleted':
      if (view?.drained === true || (ending === 'completed' && left.length === 0)) return EXIT.done;
      terminal.warn(`nodemaint: nodemaintenance/${maintenance.metadata.name} was ${ending}${notYet}\n`);
      return EXIT.failed;
    case 'timeout':
    case 'interrupted': {
      const goesOn = `the maintenance goes on without this command${notYet}`;
      terminal.warn(`nodemaint: ${STOP_REASONS[ending]}; ${goesOn}\n${adviceFor(maintenance, flags)}`);
      return ending === 'timeout' ? EXIT.timedOut : EXIT.failed;
    }
  }
}

/** How a maintenance is ended: that of a machine's shutdown by its agent, for completing it lets the machine go down. */
function endOf(maintenance: NodeMaintenance, flags: UserAccessFlags): string {
  const agent = agentNodeOf(maintenance);
  if (agent !== undefined) return `The agent of node/${agent} ends the maintenance, unless its key onBoot is wait\n`;
  return `End the maintenance with:  ${commandLine(flags, 'complete', `nm/${maintenance.metadata.name}`)}\n`;
}

/** How a maintenance is watched, and ended. */
export function adviceFor(maintenance: NodeMaintenance, flags: UserAccessFlags): string {
  const watch = commandLine(flags, 'status', `nm/${maintenance.metadata.name}`, '--watch');
  return `Watch it with:  ${watch}\n${endOf(maintenance, flags)}`;
}

/** Nodes as kubectl names them, in one line. */
export function nodeList(names: readonly string[]): string {
  return names.map((name) => `node/${name}`).join(', ');
}
