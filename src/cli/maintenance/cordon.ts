import { CORDONED_ANNOTATION } from '../../api/names.ts';
import type { Node } from '../../api/pod.ts';
import { type ChangeFlags, withCluster } from '../cluster/cluster.ts';
import { commandLine } from '../cluster/command-line.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { type BeginFlags, beginMaintenances } from './begin.ts';
import { begunText, chosenNodes, formatBegun, parseNodeChoice } from './choice.ts';
import { parseTimeout } from '../arguments/parse.ts';
import { type AwaitedNode, waitForNodes } from '../cluster/wait-for-nodes.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** The flags of `nodemaint cordon` as the command line has them. */
export interface CordonFlags extends ChangeFlags, BeginFlags {
  readonly timeout: string;
}

function cordonedText(node: Node): string {
  const { name, annotations } = node.metadata;
  const isByUs = annotations?.[CORDONED_ANNOTATION] !== undefined;
  return `node/${name} ${isByUs ? 'cordoned' : 'already cordoned by a person; it stays cordoned'}\n`;
}

/**
 * `nodemaint cordon`: creates a NodeMaintenance in the stage Cordon for the nodes, and waits until they are unschedulable.
 * Returns the exit code. Throws USAGE, KUBECONFIG_INVALID, API_UNREACHABLE, API_REFUSED.
 */
export async function cordonCommand(names: readonly string[], flags: CordonFlags, terminal: Terminal): Promise<number> {
  const named = parseNodeChoice(names, flags.selector);
  const timeoutMs = parseTimeout(flags.timeout);
  return await withCluster(flags, 'nodemaint-cordon', terminal, async ({ client, maintenances }) => {
    const nodes = await chosenNodes(maintenances, named, terminal.stop);
    const begun = await beginMaintenances(maintenances, { nodes, stage: 'Cordon' }, flags, terminal);
    const names = begun.map(({ maintenance }) => maintenance.metadata.name);
    if (flags.output !== 'table') terminal.write(formatBegun(begun, flags.output));
    else for (const each of begun) terminal.write(`${begunText(each, flags.dryRun)}\n`);
    if (flags.dryRun !== undefined) return EXIT.done;
    const isCordoned = ({ spec }: Node): boolean => spec?.unschedulable === true;
    const isDone = (now: AwaitedNode): boolean => now.nodes.length === nodes.length && now.nodes.every(isCordoned);
    const awaited = { maintenance: names[0] ?? '', nodes, isDone, timeoutMs };
    const { ending, observed } = await waitForNodes(awaited, client, terminal.stop);
    const cordoned = observed.nodes.filter(isCordoned);
    if (flags.output === 'table') for (const node of cordoned) terminal.write(cordonedText(node));
    if (ending === 'done') return EXIT.done;
    const left = nodes.filter((node) => !cordoned.some(({ metadata }) => metadata.name === node));
    const why =
      ending === 'timeout' ? 'no controller cordoned them in time; is nodemaint controller running?' : 'interrupted';
    const undo = commandLine(flags, 'complete', ...names.map((name) => `nm/${name}`));
    const text = `not cordoned yet: ${left.map((node) => `node/${node}`).join(', ')}: ${why}`;
    terminal.warn(`nodemaint: ${text}\nWhat was asked for stays; end it with:  ${undo}\n`);
    return ending === 'timeout' ? EXIT.timedOut : EXIT.failed;
  });
}
