/** `nodemaint nodes`: which nodes of a cluster are guarded. */
import { counted } from '../../decide/counted.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { countStates, type FleetNode, type FleetState } from '../../show/fleet/node-state.ts';
import { timeOf } from '../../decide/time.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { AccessFlags } from '../cluster/open-user-cluster.ts';
import type { KubeClient } from '../../kube/client.ts';
import { withCluster } from '../cluster/cluster.ts';
import { readFleet } from '../cluster/fleet.ts';
import { writeTimedLine } from '../follow/timed-line.ts';
import { formatDocument } from '../terminal/document.ts';
import type { FrameLine, LineStyle } from '../terminal/paint.ts';
import { columnsOf, type Terminal } from '../terminal/terminal.ts';
import { tableRows } from '../terminal/text.ts';
import { formatAge } from '../../decide/duration.ts';

/** The flags of `nodemaint nodes`. */
export interface NodesFlags extends AccessFlags {
  readonly selector?: string;
  readonly watch?: boolean;
  readonly output: 'table' | 'wide' | 'json' | 'yaml' | 'name';
}

/** With --watch the list is read again so often. */
const WATCH_EVERY_MS = 5_000;
/** The look of a node's line: what needs a person stands out. */
const STYLES = {
  guarded: 'plain',
  'going-down': 'plain',
  back: 'plain',
  exempt: 'plain',
  outdated: 'warn',
  unguarded: 'bad',
} as const satisfies Record<FleetState, LineStyle>;
const HEAD = ['NAME', 'STATE', 'REASON'];
const WIDE_HEAD = [
  'NAME',
  'STATE',
  'NODE',
  'VERSION',
  'PHASE',
  'LOCK',
  'DOCTOR',
  'CONFIG',
  'LAST SHUTDOWN',
  'REPORTED',
  'REASON',
];

function age(text: string | undefined, now: number): string {
  const at = timeOf(text);
  return at === undefined ? '-' : formatAge(now - at);
}

function cellsOf({ name, state, reason, nodeStatus, agent }: FleetNode, isWide: boolean, now: number): string[] {
  if (!isWide) return [name, state, reason];
  const lock = agent === undefined ? '-' : `${agent.lock} ${age(agent.lockSince, now)}`;
  const { version = '-', phase = '-', doctor = '-', last } = agent ?? {};
  const config = agent?.config === undefined || agent.config === '' ? '-' : agent.config;
  const ended = last === undefined ? '-' : `${last.result} ${age(last.at, now)}`;
  return [name, state, nodeStatus, version, phase, lock, doctor, config, ended, age(agent?.at, now), reason];
}

function summaryOf(nodes: readonly FleetNode[]): string {
  const counts = Object.entries(countStates(nodes)).map(([state, count]) => `${count} ${state}`);
  return `${counted(nodes.length, 'node', 'nodes')}: ${counts.join(', ')}`;
}

/** How a table of nodes is drawn: `columns` characters wide, at `now` in milliseconds since the epoch. */
interface NodesTableOptions {
  readonly isWide: boolean;
  readonly columns: number;
  readonly now: number;
}

/** The nodes as a table with their number below, for people. */
export function nodesTable(
  nodes: readonly FleetNode[],
  { isWide, columns, now }: NodesTableOptions,
): readonly FrameLine[] {
  const cells = nodes.map((node) => cellsOf(node, isWide, now));
  const [head = [], ...rows] = tableRows([isWide ? WIDE_HEAD : HEAD, ...cells], columns);
  return [
    ...head.map((text) => ({ text, style: 'plain' }) as const),
    ...rows.flatMap((lines, index) => {
      return lines.map((text) => ({ text, style: STYLES[nodes[index]?.state ?? 'guarded'] }));
    }),
    { text: '', style: 'plain' },
    { text: summaryOf(nodes), style: 'bold' },
  ];
}

function show(nodes: readonly FleetNode[], { output }: NodesFlags, terminal: Terminal): void {
  if (output === 'name') for (const { name } of nodes) terminal.write(`node/${name}\n`);
  else if (output === 'json' || output === 'yaml') {
    terminal.write(formatDocument('NodeList', { items: nodes }, output));
  } else if (nodes.length === 0) terminal.write('No nodes.\n');
  else {
    const look = { isWide: output === 'wide', columns: columnsOf(terminal), now: terminal.now() };
    terminal.draw(nodesTable(nodes, look));
  }
}

/** The lines of the nodes that are different from before; a node that is gone is said to be. */
function changesOf(before: readonly FleetNode[], after: readonly FleetNode[]): readonly FleetNode[] {
  const known = new Map(before.map((node) => [node.name, node]));
  const names = new Set(after.map(({ name }) => name));
  const isChanged = (node: FleetNode): boolean => {
    const old = known.get(node.name);
    return old?.state !== node.state || old.reason !== node.reason || old.nodeStatus !== node.nodeStatus;
  };
  const gone = before.filter(({ name }) => !names.has(name));
  return [...after.filter(isChanged), ...gone.map((node) => ({ ...node, reason: 'the Node object was deleted' }))];
}

async function watchFleet(
  client: KubeClient,
  first: readonly FleetNode[],
  flags: NodesFlags,
  terminal: Terminal,
): Promise<void> {
  const { stop } = terminal;
  let before = first;
  let problem: string | undefined;
  while (!stop.aborted) {
    await delay(WATCH_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
    if (stop.aborted) return;
    try {
      const { nodes } = await readFleet(client, flags.selector ?? '', terminal.now(), stop);
      for (const { name, state, reason } of changesOf(before, nodes)) {
        writeTimedLine(terminal, `node/${name} ${state}${reason === '' ? '' : `: ${reason}`}`);
      }
      before = nodes;
      problem = undefined;
    } catch (error) {
      if (stop.aborted) return;
      const reason = describeError(error);
      if (reason !== problem) terminal.warn(`nodemaint: ${reason}; trying again\n`);
      problem = reason;
    }
  }
}

/** Lists the nodes, and with --watch those that change. Throws USAGE, KUBECONFIG_INVALID, API_UNREACHABLE and API_REFUSED. */
export async function nodesCommand(flags: NodesFlags, terminal: Terminal): Promise<void> {
  const isText = flags.output === 'table' || flags.output === 'wide';
  if (flags.watch === true && !isText) {
    throw new NodemaintError('USAGE', `--watch prints text: it cannot be used with --output ${flags.output}`);
  }
  await withCluster(flags, 'nodemaint-nodes', terminal, async ({ client }) => {
    const { nodes } = await readFleet(client, flags.selector ?? '', terminal.now(), terminal.stop);
    show(nodes, flags, terminal);
    if (flags.watch === true) await watchFleet(client, nodes, flags, terminal);
  });
}
