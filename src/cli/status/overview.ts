/** All maintenances of a cluster as a table. */
import { counted } from '../../decide/counted.ts';
import { DRAINED, type NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { formatAge } from '../../decide/duration.ts';
import { nodesOf } from '../../decide/maintenance/named-target.ts';
import { requestedBy, stageOf } from '../../decide/maintenance/maintenance.ts';
import { timeOf } from '../../decide/time.ts';
import { formatTable } from '../terminal/text.ts';

/** How the table is drawn: `columns` characters wide, at `now` in milliseconds since the epoch; wide with all names of nodes. */
interface OverviewOptions {
  readonly isWide: boolean;
  readonly columns: number;
  readonly now: number;
}

const HEAD = ['NAME', 'STAGE', 'NODES', 'DRAINED', 'PENDING', 'EVICTING', 'AGE', 'REASON'];
/** All names of nodes are long: they come last, where they are broken into lines. */
const WIDE_HEAD = [
  'NAME',
  'STAGE',
  'DRAINED',
  'PENDING',
  'EVICTING',
  'AGE',
  'REQUESTED BY',
  'REASON',
  'MESSAGE',
  'NODES',
];
const MAX_NAMES = 3;
/** Names of nodes take at most this share of the width; else they are counted. */
const NAMES_SHARE = 0.3;

/** The first names and the number of the others, or only the number where there is no room for names. */
function shortNames(names: readonly string[], columns: number): string {
  const more = names.length - MAX_NAMES;
  const text = `${names.slice(0, MAX_NAMES).join(',')}${more > 0 ? ` and ${more} more` : ''}`;
  if (text.length <= NAMES_SHARE * columns) return text;
  return counted(names.length, 'node', 'nodes');
}

/** All maintenances, one row each; where it is wide also what the Drained condition says. */
export function overviewTable(
  maintenances: readonly NodeMaintenance[],
  nodes: readonly Node[],
  { isWide, columns, now }: OverviewOptions,
): string {
  if (maintenances.length === 0) return 'No maintenances.\n';
  const rows = maintenances.map((each) => {
    const { metadata, spec, status } = each;
    const names = nodesOf(each, nodes);
    const { podsPendingEvacuation = 0, podsEvacuating = 0 } = status?.summary ?? {};
    const [shown, all] = names.length === 0 ? ['<none>', '<none>'] : [shortNames(names, columns), names.join(', ')];
    const condition = status?.conditions?.find(({ type }) => type === DRAINED);
    return [
      metadata.name,
      stageOf(each),
      ...(isWide ? [] : [shown]),
      condition?.status ?? '-',
      String(podsPendingEvacuation),
      String(podsEvacuating),
      formatAge(now - (timeOf(metadata.creationTimestamp) ?? now)),
      ...(isWide ? [requestedBy(each) ?? '-'] : []),
      spec.reason ?? '',
      ...(isWide ? [condition?.message ?? '', all] : []),
    ];
  });
  return `${formatTable([isWide ? WIDE_HEAD : HEAD, ...rows], columns)}\n`;
}
