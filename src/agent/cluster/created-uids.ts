import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { OwnState } from '../../decide/maintenance/agent-names.ts';
import { isUsable } from '../../decide/maintenance/maintenance.ts';

/**
 * What became of the maintenances that this process made, or found as its own. They are known by their UIDs: another object
 * of the same name was made by another client.
 */
export class CreatedMaintenances {
  readonly #nodeName: string;
  readonly #get: (name: string) => NodeMaintenance | undefined;
  /** UIDs by name. */
  readonly #accepted = new Map<string, string>();
  /** Names. */
  readonly #refused = new Set<string>();
  /** UIDs, as those that are completed. */
  readonly #seen = new Set<string>();
  readonly #completed = new Set<string>();

  /** Knows nothing at first; `get` reads the copy that the watch keeps. */
  constructor(nodeName: string, get: (name: string) => NodeMaintenance | undefined) {
    this.#nodeName = nodeName;
    this.#get = get;
  }

  /** Forgets what is known of the name, which a new shutdown uses. */
  forget(name: string): void {
    const uid = this.#accepted.get(name) ?? '';
    this.#accepted.delete(name);
    this.#refused.delete(name);
    this.#seen.delete(uid);
    this.#completed.delete(uid);
  }

  /** Notes that the API server has this maintenance of this agent. */
  accept({ metadata: { name, uid = '' } }: NodeMaintenance): void {
    if (this.#accepted.get(name) === uid) return;
    this.forget(name);
    this.#accepted.set(name, uid);
    if (this.#get(name)?.metadata.uid === uid) this.#seen.add(uid);
  }

  /** Notes that another client has a maintenance of the name. */
  refuse(name: string): void {
    this.#refused.add(name);
  }

  /** Notes that the copy of this name has changed. */
  changed(name: string): void {
    const found = this.#get(name);
    if (found === undefined) this.#refused.delete(name);
    const uid = found?.metadata.uid ?? '';
    if (found === undefined || this.#accepted.get(name) !== uid) return;
    this.#seen.add(uid);
    // A maintenance that is deleted is completed by the controller, which is not the completion that a person asks for.
    const isDeleted = found.metadata.deletionTimestamp !== undefined;
    if (found.spec.stage === 'Complete' && !isDeleted) this.#completed.add(uid);
  }

  state(name: string): OwnState {
    const found = this.#get(name);
    const uid = this.#accepted.get(name);
    if (uid === undefined) {
      const isForeign = found !== undefined && !isUsable(found, 'Drain', this.#nodeName);
      return this.#refused.has(name) || isForeign ? 'taken' : 'absent';
    }
    if (this.#completed.has(uid)) return 'completed';
    // The copy may still show what had the name before.
    if (found?.metadata.uid !== uid) return this.#seen.has(uid) ? 'deleted' : 'open';
    return found.metadata.deletionTimestamp === undefined ? 'open' : 'deleted';
  }

  /** Whether no maintenance has the name, as far as is known. */
  isFree(name: string): boolean {
    return this.#get(name) === undefined && !this.#refused.has(name) && !this.isUnseen(name);
  }

  /** The UID of the maintenance that was accepted under the name. */
  uidOf(name: string): string | undefined {
    return this.#accepted.get(name);
  }

  /** Whether a maintenance was accepted under the name and the watch has not shown it yet. */
  isUnseen(name: string): boolean {
    const uid = this.#accepted.get(name);
    return uid !== undefined && !this.#seen.has(uid);
  }

  /** Notes that the API server does not have it any more, though the watch has never shown it. */
  lost(name: string): void {
    this.#seen.add(this.#accepted.get(name) ?? '');
  }
}
