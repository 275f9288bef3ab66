import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { isUsable, type OwnState } from '../../decide/maintenance/shutdown-maintenance.ts';

/**
 * What became of the maintenances that this process made, or found as its own: known by their UIDs, for another object of
 * the same name is somebody else's.
 */
export interface MadeMaintenances {
  /** Notes that the API server has this one of ours. */
  accept(maintenance: NodeMaintenance): void;
  /** Notes that the name is somebody else's. */
  refuse(name: string): void;
  /** Forgets what is known of the name, which a new shutdown uses. */
  forget(name: string): void;
  /** Notes an event of the watch. */
  changed(name: string): void;
  state(name: string): OwnState;
  /** Whether nothing has the name, as far as is known. */
  isFree(name: string): boolean;
  /** The UID of the one that was accepted under the name. */
  uidOf(name: string): string | undefined;
  /** Whether it was accepted, and the watch has not shown it yet. */
  isUnseen(name: string): boolean;
  /** Notes that the API server does not have it any more, though the watch has never shown it. */
  lost(name: string): void;
}

/** Makes the memory, which is empty; `get` reads the copy that the watch keeps. */
export function createMadeMaintenances(
  nodeName: string,
  get: (name: string) => NodeMaintenance | undefined,
): MadeMaintenances {
  /** By name. */
  const accepted = new Map<string, string>();
  const refused = new Set<string>();
  /** By UID. */
  const seen = new Set<string>();
  const completed = new Set<string>();

  const forget = (name: string): void => {
    const uid = accepted.get(name) ?? '';
    accepted.delete(name);
    refused.delete(name);
    seen.delete(uid);
    completed.delete(uid);
  };

  const stateOf = (name: string, uid: string): OwnState => {
    if (completed.has(uid)) return 'completed';
    const found = get(name);
    // The copy may still show what had the name before.
    if (found?.metadata.uid !== uid) return seen.has(uid) ? 'deleted' : 'open';
    return found.metadata.deletionTimestamp === undefined ? 'open' : 'deleted';
  };

  const isUnseen = (name: string): boolean => {
    const uid = accepted.get(name);
    return uid !== undefined && !seen.has(uid);
  };

  return {
    forget,
    accept: ({ metadata: { name, uid = '' } }) => {
      if (accepted.get(name) === uid) return;
      forget(name);
      accepted.set(name, uid);
      if (get(name)?.metadata.uid === uid) seen.add(uid);
    },
    refuse: (name) => {
      refused.add(name);
    },
    changed: (name) => {
      const found = get(name);
      if (found === undefined) refused.delete(name);
      const uid = found?.metadata.uid ?? '';
      if (found === undefined || accepted.get(name) !== uid) return;
      seen.add(uid);
      // Whoever deletes it makes the controller complete it, which is not the same as completing it.
      if (found.spec.stage === 'Complete' && found.metadata.deletionTimestamp === undefined) completed.add(uid);
    },
    state: (name) => {
      const uid = accepted.get(name);
      if (uid !== undefined) return stateOf(name, uid);
      const found = get(name);
      const isForeign = found !== undefined && !isUsable(found, 'Drain', nodeName);
      return refused.has(name) || isForeign ? 'taken' : 'absent';
    },
    isFree: (name) => get(name) === undefined && !refused.has(name) && !isUnseen(name),
    uidOf: (name) => accepted.get(name),
    isUnseen,
    lost: (name) => {
      seen.add(accepted.get(name) ?? '');
    },
  };
}
