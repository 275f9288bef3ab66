import {
  DEADLINE_ANNOTATION,
  DEADLINE_SINCE_ANNOTATION,
  FORCE_ANNOTATION,
  SHUTDOWN_KIND_ANNOTATION,
} from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { nodeStatusesOf } from '../../decide/maintenance/recorded-node.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { notedReason } from '../../decide/maintenance/node-note.ts';

/**
 * Notes a maintenance and the nodes that it selects; undefined for one that is gone. Returns the nodes for which its stage, its
 * reason, its deletion, its deadline or its targets have changed, or where its drain has begun: the others are not concerned.
 */
type NoteMaintenance = (
  name: string,
  maintenance: NodeMaintenance | undefined,
  selected: readonly string[],
) => readonly string[];

/** The deadline, and what says whether the node waits for its turn to reboot. */
const READ_ANNOTATIONS = [DEADLINE_ANNOTATION, DEADLINE_SINCE_ANNOTATION, SHUTDOWN_KIND_ANNOTATION, FORCE_ANNOTATION];

export function createAffectedNodes(): NoteMaintenance {
  const known = new Map<string, ReadonlyMap<string, string>>();
  return (name, maintenance, selected) => {
    const before = known.get(name) ?? new Map<string, string>();
    const after = new Map<string, string>();
    if (maintenance !== undefined) {
      const { annotations = {}, deletionTimestamp } = maintenance.metadata;
      const read = READ_ANNOTATIONS.map((name) => annotations[name]);
      // One in the stage Idle that is deleted, and that somebody's finalizer keeps, plans nothing any more.
      const reason = notedReason(maintenance) ?? '';
      const own = JSON.stringify([stageOf(maintenance), reason, deletionTimestamp !== undefined, ...read]);
      for (const node of selected) after.set(node, own);
      for (const { nodeRef, drainTargets, drainStartTime } of nodeStatusesOf(maintenance.status)) {
        const reached = JSON.stringify([drainStartTime !== undefined, drainTargets ?? []]);
        after.set(nodeRef.name, `${after.get(nodeRef.name) ?? ''}${own}${reached}`);
      }
    }
    if (after.size === 0) known.delete(name);
    else known.set(name, after);
    return [...new Set([...before.keys(), ...after.keys()])].filter((node) => before.get(node) !== after.get(node));
  };
}
