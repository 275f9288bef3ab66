import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import { createSystemClock } from '../../../host/clock.ts';
import type { ChangeFlags, ClusterClients } from '../../cluster/cluster.ts';
import { commandLine } from '../../cluster/command-line.ts';
import type { UserAccessFlags } from '../../../kube/access/user.ts';
import { EXIT } from '../../terminal/exit-code.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { drainOutput } from './output.ts';
import { STOP_REASONS } from '../follower.ts';
import { type DrainWatchResult, watchDrains } from './watch.ts';

/** A maintenance to follow. */
interface FollowTarget {
  readonly maintenance: NodeMaintenance;
  /** Its nodes as far as they are known before the controller names them. */
  readonly nodes: readonly string[];
}

/**
 * Watches maintenances to their end, `timeoutMs` milliseconds at most (undefined: no limit), and says how each ended. Returns the
 * worst exit code (docs/reference/commands.md).
 */
export async function followMaintenances(
  { client }: Pick<ClusterClients, 'client'>,
  followed: readonly FollowTarget[],
  { timeoutMs, ...flags }: ChangeFlags & { readonly timeoutMs: number | undefined },
  terminal: Terminal,
): Promise<number> {
  const context = { client, clock: createSystemClock(), ...drainOutput(terminal, flags.output) };
  const targets = followed.map(({ maintenance: { metadata }, nodes }) => {
    return { name: metadata.name, uid: metadata.uid ?? '', nodes };
  });
  const results = await watchDrains(targets, context, timeoutMs, terminal.stop);
  const codes = results.map((result, index) => concludeFollow(result, targets[index]?.name ?? '', flags, terminal));
  return codes.includes(EXIT.failed) ? EXIT.failed : Math.max(...codes);
}

/** Says how following the maintenance `name` ended; the exit code. */
export function concludeFollow(
  { ending, view }: DrainWatchResult,
  name: string,
  flags: ChangeFlags,
  terminal: Pick<Terminal, 'say' | 'warn'>,
): number {
  const left = (view?.nodes ?? []).filter(({ drained }) => !drained).map((node) => node.name);
  const notYet = left.length === 0 ? '' : `; not drained yet: ${nodeList(left)}`;
  switch (ending) {
    case 'drained':
      if (flags.output === 'table')
        terminal.say(`End the maintenance with:  ${commandLine(flags, 'complete', `nm/${name}`)}\n`);
      return EXIT.done;
    case 'completed':
    case 'deleted':
      if (view?.drained === true || (ending === 'completed' && left.length === 0)) return EXIT.done;
      terminal.warn(`nodemaint: nodemaintenance/${name} was ${ending}${notYet}\n`);
      return EXIT.failed;
    case 'timeout':
    case 'interrupted': {
      const goesOn = `the maintenance goes on without this command${notYet}`;
      terminal.warn(`nodemaint: ${STOP_REASONS[ending]}; ${goesOn}\n${adviceFor(name, flags)}`);
      return ending === 'timeout' ? EXIT.timedOut : EXIT.failed;
    }
  }
}

/** The commands that watch a maintenance, or end it. */
export function adviceFor(name: string, flags: UserAccessFlags): string {
  const watch = commandLine(flags, 'status', `nm/${name}`, '--watch');
  const complete = commandLine(flags, 'complete', `nm/${name}`);
  return `Watch it with:  ${watch}\nEnd it with:  ${complete}\n`;
}

/** Nodes as kubectl names them, in one line. */
export function nodeList(names: readonly string[]): string {
  return names.map((name) => `node/${name}`).join(', ');
}
