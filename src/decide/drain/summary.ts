import type { MaintenanceSummary, NodeStatus } from '../../api/node-maintenance.ts';

/** What a column of a table has room for. */
const NAMES = 3;
/** The CRD's limit. */
const MAX_CHARACTERS = 256;

/** Names for people, in at most 256 characters: of a long list the first ones and the number of the others. */
export function namesText(names: readonly string[]): string {
  let shown = names.slice(0, NAMES);
  const text = (): string => {
    const more = names.length - shown.length;
    return more === 0 ? shown.join(', ') : [...shown, `and ${more} more`].join(', ');
  };
  while (shown.length > 1 && text().length > MAX_CHARACTERS) shown = shown.slice(0, -1);
  return text().slice(0, MAX_CHARACTERS);
}

/** What the statuses of all nodes say together, for the columns of a table, which have no sums. */
export function summaryOf(nodeStatuses: readonly NodeStatus[]): MaintenanceSummary {
  const sum = (count: (status: NodeStatus) => number | undefined): number =>
    nodeStatuses.reduce((total, status) => total + (count(status) ?? 0), 0);
  return {
    nodes: namesText(nodeStatuses.map(({ nodeRef }) => nodeRef.name).toSorted()),
    podsPendingEvacuation: sum(({ podsPendingEvacuation }) => podsPendingEvacuation),
    podsEvacuating: sum(({ podsEvacuating }) => podsEvacuating),
  };
}
