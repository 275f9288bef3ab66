import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { OwnState } from '../../decide/maintenance/agent-names.ts';
import { isUsable } from '../../decide/maintenance/maintenance.ts';

/**
 * What became of the maintenances that this process made, or found as its own. They are known by their UIDs: another object
 * of the same name was made by another client.
 */
export interface CreatedMaintenances {
  /** Notes that the API server has this maintenance of this agent. */
  accept(maintenance: NodeMaintenance): void;
  /** Notes that another client has a maintenance of the name. */
  refuse(name: string): void;
  /** Forgets what is known of the name, which a new shutdown uses. */
  forget(name: string): void;
  /** Notes that the copy of this name has changed. */
  changed(name: string): void;
  state(name: string): OwnState;
  /** Whether no maintenance has the name, as far as is known. */
  isFree(name: string): boolean;
  /** The UID of the maintenance that was accepted under the name. */
  uidOf(name: string): string | undefined;
  /** Whether a maintenance was accepted under the name and the watch has not shown it yet. */
  isUnseen(name: string): boolean;
  /** Notes that the API server does not have it any more, though the watch has never shown it. */
  lost(name: string): void;
}

interface Memory {
  /** UIDs by name. */
  readonly accepted: Map<string, string>;
  /** Names. */
  readonly refused: Set<string>;
  /** UIDs. */
  readonly seen: Set<string>;
  /** UIDs. */
  readonly completed: Set<string>;
}

function forget({ accepted, refused, seen, completed }: Memory, name: string): void {
  const uid = accepted.get(name) ?? '';
  accepted.delete(name);
  refused.delete(name);
  seen.delete(uid);
  completed.delete(uid);
}

function noteCopy({ accepted, refused, seen, completed }: Memory, name: string, found?: NodeMaintenance): void {
  if (found === undefined) refused.delete(name);
  const uid = found?.metadata.uid ?? '';
  if (found === undefined || accepted.get(name) !== uid) return;
  seen.add(uid);
  // A maintenance that is deleted is completed by the controller, which is not the completion that a person asks for.
  if (found.spec.stage === 'Complete' && found.metadata.deletionTimestamp === undefined) completed.add(uid);
}

function stateOf({ seen, completed }: Memory, uid: string, found: NodeMaintenance | undefined): OwnState {
  if (completed.has(uid)) return 'completed';
  // The copy may still show what had the name before.
  if (found?.metadata.uid !== uid) return seen.has(uid) ? 'deleted' : 'open';
  return found.metadata.deletionTimestamp === undefined ? 'open' : 'deleted';
}

/** Makes the memory, which is empty; `get` reads the copy that the watch keeps. */
export function trackCreatedMaintenances(
  nodeName: string,
  get: (name: string) => NodeMaintenance | undefined,
): CreatedMaintenances {
  const memory: Memory = { accepted: new Map(), refused: new Set(), seen: new Set(), completed: new Set() };
  const { accepted, refused, seen } = memory;

  const isUnseen = (name: string): boolean => {
    const uid = accepted.get(name);
    return uid !== undefined && !seen.has(uid);
  };

  return {
    forget: (name) => {
      forget(memory, name);
    },
    accept: ({ metadata: { name, uid = '' } }) => {
      if (accepted.get(name) === uid) return;
      forget(memory, name);
      accepted.set(name, uid);
      if (get(name)?.metadata.uid === uid) seen.add(uid);
    },
    refuse: (name) => {
      refused.add(name);
    },
    changed: (name) => {
      noteCopy(memory, name, get(name));
    },
    state: (name) => {
      const found = get(name);
      const uid = accepted.get(name);
      if (uid !== undefined) return stateOf(memory, uid, found);
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
