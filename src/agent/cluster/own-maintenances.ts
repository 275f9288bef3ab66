import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { OwnState } from '../../decide/maintenance/agent-names.ts';
import { agentNodeOf, isUsable, stageOf } from '../../decide/maintenance/maintenance.ts';
import { awaitsVolumes, hasDrained } from '../../decide/maintenance/recorded-node.ts';
import { describeError } from '../../errors.ts';
import type { ClusterDependencies } from './dependencies.ts';
import type { CreatedMaintenances } from './created-uids.ts';
import { MaintenanceWriter, type ShutdownMaintenance } from './maintenance-writer.ts';
import type { NodeMaintenances } from './maintenance-watch.ts';

/** What this node's maintenances are made with. */
interface OwnMaintenanceParts {
  readonly maintenances: Pick<NodeMaintenances, 'get' | 'list'>;
  readonly made: CreatedMaintenances;
  /** The kernel's boot id, where the node's drains end with the boot. */
  readonly endsWithBoot: string | undefined;
}

/** The note of the boot is given up after this time: an API server that goes away now must not delay the drain. */
const NOTE_MS = 2_000;
/** A watch shows what was made within a second, unless it is interrupted; the API server is asked this often at most. */
const CONFIRM_MS = 10_000;

/** The maintenances that the agent of this node makes: what became of them, and all writes to them. */
export class OwnMaintenances extends MaintenanceWriter {
  readonly #dependencies: ClusterDependencies;
  readonly #parts: OwnMaintenanceParts;
  #confirmedAt: number | undefined;

  /** Nothing is asked before the first call. */
  constructor(dependencies: ClusterDependencies, parts: OwnMaintenanceParts) {
    super(dependencies);
    this.#dependencies = dependencies;
    this.#parts = parts;
  }

  /** The drains that this node's agent made. */
  own(): readonly NodeMaintenance[] {
    return this.#made().filter((each) => stageOf(each) !== 'Cordon');
  }

  /** The maintenances that this node's agent made to cordon the node. */
  ownCordons(): readonly NodeMaintenance[] {
    return this.#made().filter((each) => stageOf(each) === 'Cordon');
  }

  /** What became of the drain that this agent made under the name, or is to make. */
  state(name: string): OwnState {
    return this.#parts.made.state(name);
  }

  /** Whether the drain that this agent made under the name has drained the node. */
  isDrained(name: string): boolean {
    const found = this.#ownOf(name);
    return found !== undefined && hasDrained(found, this.#dependencies.nodeName);
  }

  /** Whether the drain of the name waits for volumes of this node. */
  awaitsVolumes(name: string): boolean {
    const found = this.#ownOf(name);
    return found !== undefined && awaitsVolumes(found, this.#dependencies.nodeName);
  }

  /** Whether no maintenance of any client has the name, as far as is known. */
  isFree(name: string): boolean {
    return this.#parts.made.isFree(name);
  }

  /** Forgets what was known of the name, which a new shutdown uses. */
  forget(name: string): void {
    this.#parts.made.forget(name);
  }

  /** Makes the maintenance, or finds it made; the state of its name then says which. */
  async create(wanted: ShutdownMaintenance, signal: AbortSignal): Promise<void> {
    const { log, nodeName } = this.#dependencies;
    const { made, endsWithBoot } = this.#parts;
    const { name, reason, stage } = wanted;
    const created = await this.post(wanted, signal);
    const got = created ?? (await this.read(name, signal));
    if (got === undefined) return;
    if (!isUsable(got, stage, nodeName)) {
      made.refuse(name);
      log.warn({ maintenance: name }, 'another client has a maintenance of this name, taking another name');
      return;
    }
    made.accept(got);
    log.info({ maintenance: name, reason }, created === undefined ? 'found own maintenance' : 'created maintenance');
    if (stage === 'Drain' && endsWithBoot !== undefined) await this.#tryToNoteBoot(name, endsWithBoot, signal);
  }

  /** Reads a drain that was made and that the watch has not shown, from the API server; at most every ten seconds. */
  async confirm(name: string, signal: AbortSignal): Promise<void> {
    const { made } = this.#parts;
    const now = this.#dependencies.clock.monotonic();
    if (!made.isUnseen(name) || (this.#confirmedAt !== undefined && now - this.#confirmedAt < CONFIRM_MS)) return;
    this.#confirmedAt = now;
    const found = await this.read(name, signal);
    if (found?.metadata.uid !== made.uidOf(name)) made.lost(name);
  }

  /** The copy of the maintenance that this agent made under the name. */
  #ownOf(name: string): NodeMaintenance | undefined {
    const found = this.#parts.maintenances.get(name);
    return found?.metadata.uid === this.#parts.made.uidOf(name) ? found : undefined;
  }

  #made(): readonly NodeMaintenance[] {
    return this.#parts.maintenances.list().filter((each) => agentNodeOf(each) === this.#dependencies.nodeName);
  }

  /** Not needed for the drain: without the note the agent alone ends the drain after the boot. */
  async #tryToNoteBoot(name: string, bootId: string, signal: AbortSignal): Promise<void> {
    try {
      await this.noteBoot(name, bootId, AbortSignal.any([signal, AbortSignal.timeout(NOTE_MS)]));
    } catch (error) {
      signal.throwIfAborted();
      const reason = describeError(error);
      this.#dependencies.log.debug({ maintenance: name, reason }, 'cannot note the boot of the maintenance');
    }
  }
}
