import { type Machine, PRE_DRAIN_HOOK, PRE_TERMINATE_HOOK } from '../../api/machine.ts';
import { firstNames } from '../../decide/name-list.ts';

const MOST_NAMES = 5;

/** What Cluster API is doing to the node of that name, for people; undefined where it does nothing, or the Machine is of another. */
export function describeMachineDeletion({ metadata, status }: Machine, nodeName: string): string | undefined {
  if (metadata.deletionTimestamp === undefined || status?.nodeRef?.name !== nodeName) return undefined;
  const hooks = Object.keys(metadata.annotations ?? {}).filter(
    (key) => key.startsWith(PRE_DRAIN_HOOK) || key.startsWith(PRE_TERMINATE_HOOK),
  );
  const waits = hooks.length === 0 ? '' : `; it waits for the hooks ${firstNames(hooks.toSorted(), MOST_NAMES)}`;
  return `Cluster API is deleting the node with its Machine ${metadata.namespace}/${metadata.name}${waits}`;
}
