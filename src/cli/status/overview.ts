/** All maintenances of a cluster as a table. */
import { counted } from '../../decide/counted.ts';
import { DRAINED, type NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { formatAge } from '../../decide/duration.ts';
import { nodesOf } from '../../decide/maintenance/named-target.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { deadlineIn, timeOf } from '../../decide/time.ts';
import { deadlineOf } from '../../decide/deadline/maintenance.ts';
import { formatTable } from '../terminal/table.ts';

/** How the table is drawn: `columns` characters wide, at `now` in milliseconds since the epoch. */
interface OverviewOptions {
  readonly columns: number;
  readonly now: number;
}

const HEAD = ['NAME', 'STAGE', 'NODES', 'DRAINED', 'PENDING', 'EVICTING', 'AGE', 'DEADLINE', 'REASON'];
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

/** All maintenances, one row each. */
export function overviewTable(
  maintenances: readonly NodeMaintenance[],
  nodes: readonly Node[],
  { columns, now }: OverviewOptions,
): string {
  if (maintenances.length === 0) return 'No maintenances.\n';
  const rows = maintenances.map((each) => {
    const { metadata, spec, status } = each;
    const names = nodesOf(each, nodes);
    const at = deadlineOf(each)?.at;
    const { podsPendingEvacuation = 0, podsEvacuating = 0 } = status?.summary ?? {};
    const condition = status?.conditions?.find(({ type }) => type === DRAINED);
    return [
      metadata.name,
      stageOf(each),
      names.length === 0 ? '<none>' : shortNames(names, columns),
      condition?.status ?? '-',
      String(podsPendingEvacuation),
      String(podsEvacuating),
      formatAge(now - (timeOf(metadata.creationTimestamp) ?? now)),
      at === undefined || stageOf(each) === 'Complete' ? '-' : deadlineIn(at, now),
      spec.reason ?? '',
    ];
  });
  return `${formatTable([HEAD, ...rows], columns)}\n`;
}
