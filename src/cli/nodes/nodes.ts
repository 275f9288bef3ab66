/** `nodemaint nodes`: which nodes of a cluster are guarded. */
import { counted } from '../../decide/counted.ts';
import { countStates, type FleetNode, type FleetState } from '../../show/fleet/node-state.ts';
import { timeOf } from '../../decide/time.ts';
import type { AccessFlags } from '../cluster/open-user-cluster.ts';
import { withCluster } from '../cluster/cluster.ts';
import { readFleet } from '../cluster/fleet.ts';
import { formatDocument } from '../terminal/document.ts';
import type { FrameLine, LineStyle } from '../terminal/lines.ts';
import { columnsOf, type Terminal } from '../terminal/terminal.ts';
import { tableRows } from '../terminal/table.ts';
import { formatAge } from '../../decide/duration.ts';

/** The flags of `nodemaint nodes`. */
export interface NodesFlags extends AccessFlags {
  readonly selector?: string;
  /** Only nodes whose shutdown nothing would hold. */
  readonly unguarded?: boolean;
  readonly output: 'table' | 'wide' | 'json' | 'yaml' | 'name';
}

/** The look of a node's line: what needs a person stands out. */
const STYLES = {
  guarded: 'plain',
  'going-down': 'plain',
  back: 'plain',
  exempt: 'plain',
  outdated: 'warn',
  unguarded: 'bad',
} as const satisfies Record<FleetState, LineStyle>;
const WIDE_HEAD = 'NAME,STATE,NODE,VERSION,PHASE,LOCK,DOCTOR,CONFIG,LAST SHUTDOWN,REPORTED,REASON'.split(',');

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
  const [head = [], ...rows] = tableRows([isWide ? WIDE_HEAD : ['NAME', 'STATE', 'REASON'], ...cells], columns);
  return [
    ...head.map((text) => ({ text, style: 'plain' }) as const),
    ...rows.flatMap((lines, index) => {
      return lines.map((text) => ({ text, style: STYLES[nodes[index]?.state ?? 'guarded'] }));
    }),
    { text: '', style: 'plain' },
    { text: summaryOf(nodes), style: 'bold' },
  ];
}

function show(all: readonly FleetNode[], { output, unguarded }: NodesFlags, terminal: Terminal): void {
  const nodes = unguarded === true ? all.filter(({ state }) => state === 'unguarded') : all;
  if (output === 'name') for (const { name } of nodes) terminal.write(`node/${name}\n`);
  else if (output === 'json' || output === 'yaml') {
    terminal.write(formatDocument('NodeList', { items: nodes }, output));
  } else if (nodes.length === 0) terminal.write(all.length === 0 ? 'No nodes.\n' : 'No node is unguarded.\n');
  else {
    const look = { isWide: output === 'wide', columns: columnsOf(terminal), now: terminal.now() };
    terminal.draw(nodesTable(nodes, look));
  }
}

/** Lists the nodes. Throws USAGE, KUBECONFIG_INVALID, API_UNREACHABLE and API_REFUSED. */
export async function nodesCommand(flags: NodesFlags, terminal: Terminal): Promise<void> {
  await withCluster(flags, 'nodemaint-nodes', terminal, async ({ client }) => {
    const { nodes } = await readFleet(client, flags.selector ?? '', terminal.now(), terminal.stop);
    show(nodes, flags, terminal);
  });
}
