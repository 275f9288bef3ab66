import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node } from '../../../src/api/pod.ts';
import { selectsNode, stageOf } from '../../../src/decide/maintenance/maintenance.ts';
import type { KeptEntry } from '../../../src/show/story/kept.ts';
import { isDrained } from '../objects.ts';
import type { Violation } from './violation.ts';

/** Looks for drains that are over and of which the cluster keeps no story, and for one that is kept twice. */
export function checkStories(
  { maintenances, nodes }: { readonly maintenances: readonly NodeMaintenance[]; readonly nodes: readonly Node[] },
  kept: readonly KeptEntry[],
): readonly Violation[] {
  return maintenances.flatMap((maintenance): readonly Violation[] => {
    const { name, uid } = maintenance.metadata;
    const hasNodes = nodes.some((node) => selectsNode(maintenance, node));
    if (stageOf(maintenance) !== 'Drain' || !isDrained(maintenance) || !hasNodes) return [];
    const count = kept.filter((entry) => entry.uid === uid && entry.maintenance === name).length;
    if (count === 1) return [];
    const what = count === 0 ? 'no story of a drain is kept' : 'a story is kept twice';
    return [{ invariant: 'stories', what, detail: name }];
  });
}
