import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { drainsOfNode, isInProgress, type NodeDrain } from '../../decide/maintenance/maintenance.ts';
import { decideSource, type MaintenanceSource } from '../../decide/maintenance/node-note.ts';
import type { LeaseLife } from '../../decide/shutdown/drainer.ts';
import { describeError } from '../../errors.ts';
import { NODE_MAINTENANCES } from '../../kube/resource.ts';
import { createObjectCache } from '../../kube/watch.ts';
import type { ClusterDependencies } from './dependencies.ts';
import { createMaintenanceTransform, createSignificantChanges } from './copy-trimming.ts';
import { createNotedMaintenances, type MaintenanceCopies } from './maintenances-by-note.ts';

/** The NodeMaintenances that concern this node, as watches keep them. */
export interface NodeMaintenances {
  /** Whether the first list has arrived. */
  synced(): boolean;
  /** When the API server answered last, in milliseconds since the epoch; undefined before its first answer. */
  heardAt(): number | undefined;
  get(name: string): NodeMaintenance | undefined;
  list(): readonly NodeMaintenance[];
  /** All drains of this node. */
  drains(): readonly NodeDrain[];
  /**
   * Whether all NodeMaintenances of the cluster are watched; of one that does not concern this node only the name is known
   * then. Else what the note on the Node says may be late: nothing that must not be done too early follows from it.
   */
  watchesAll(): boolean;
  /** Asks for a watch on all of them, because no controller is alive that would write the note. */
  wantAll(): void;
  /** Whether all of them are watched whatever the Lease of a controller shows, from now on. */
  holdAll(isHeld: boolean): void;
}

/** What the controller's Lease says. */
type LeaseReading =
  /** Whether the controller writes notes onto Nodes, and whether it lives. */
  | { readonly kind: 'read'; readonly writesNotes: boolean; readonly life: LeaseLife }
  /** The API server does not let this agent read it. */
  | { readonly kind: 'refused' }
  /** It does not answer. */
  | { readonly kind: 'unanswered' };

/** Reads the controller's Lease. */
export interface LeaseReader {
  /** Reads it unless it was read less than `maxAgeMs` ago. Throws only the reason of an aborted `signal`. */
  look(maxAgeMs: number, signal: AbortSignal): Promise<LeaseReading>;
}

/** The copies, and the watches that keep them current. */
export interface MaintenanceWatch extends NodeMaintenances {
  run(signal: AbortSignal): Promise<void>;
}

/** How often the agent checks whether the first lists have arrived. */
const SYNC_MS = 250;
/** The Lease is read this often: for so long a node may not know of a maintenance that somebody makes without a controller. */
const LEASE_EVERY_MS = 30_000;
/** A Lease that was read in this time for another reason is not read again. */
const LEASE_AGE_MS = 2_000;
/** As long as the agent knows of no maintenances at all, and after a read that failed. */
const RETRY_MS = 1_000;
/** Where the API server answers, the lists arrive in this time; a node that may not watch its Node object watches all. */
const NOTE_MS = 10_000;

interface Running {
  readonly source: MaintenanceSource;
  readonly copies: MaintenanceCopies;
  readonly end: AbortController;
  readonly startedAt: number;
}

/** A watch on all NodeMaintenances of the cluster. */
function createAllMaintenances(dependencies: ClusterDependencies, onCopy: (name: string) => void): MaintenanceCopies {
  const trim = createMaintenanceTransform(dependencies.nodeName);
  const cache = createObjectCache<NodeMaintenance>({ resource: NODE_MAINTENANCES }, onCopy, dependencies, trim);
  return { ...cache, isIncomplete: () => false };
}

/** Changes from one source to the other without a gap: the copies of one count until the lists of the other have arrived. */
class MaintenanceSources {
  readonly #dependencies: ClusterDependencies;
  readonly #onCopy: (name: string) => void;
  readonly #onIncomplete: () => void;
  #current: Running | undefined;
  /** Those that are to follow, or that the agent may come to need. */
  readonly #starting = new Map<MaintenanceSource, Running>();

  constructor(dependencies: ClusterDependencies, onCopy: (name: string) => void, onIncomplete: () => void) {
    this.#dependencies = dependencies;
    this.#onCopy = onCopy;
    this.#onIncomplete = onIncomplete;
  }

  get current(): Running | undefined {
    return this.#current;
  }

  /** Begins to watch, where that has not begun. */
  start(source: MaintenanceSource, signal: AbortSignal): void {
    if (this.#current?.source === source || this.#starting.has(source)) return;
    const { clock, log } = this.#dependencies;
    const end = new AbortController();
    const onCopy = (name: string): void => {
      if (this.#current?.copies === copies) this.#onCopy(name);
    };
    const onIncomplete = (): void => {
      if (this.#current?.copies === copies) this.#onIncomplete();
    };
    const copies =
      source === 'all'
        ? createAllMaintenances(this.#dependencies, onCopy)
        : createNotedMaintenances(this.#dependencies, onCopy, onIncomplete);
    this.#starting.set(source, { source, copies, end, startedAt: clock.monotonic() });
    copies.run(AbortSignal.any([signal, end.signal])).catch((error: unknown) => {
      log.error({ reason: describeError(error) }, 'watch on maintenances failed');
    });
  }

  /** Goes by the source if its lists have arrived; returns whether it does. The other one ends then. */
  use(source: MaintenanceSource): boolean {
    if (this.#current?.source !== source && !this.#change(source)) return false;
    for (const { end } of this.#starting.values()) end.abort();
    this.#starting.clear();
    return true;
  }

  #change(source: MaintenanceSource): boolean {
    const before = this.#current;
    const next = this.#starting.get(source);
    if (next === undefined || !next.copies.synced() || next.copies.isIncomplete()) return false;
    // What the other watch has shown already must not seem to be deleted, and the controller may have notes to write.
    const open = before?.copies.list().filter(isInProgress) ?? [];
    if (open.some(({ metadata }) => next.copies.get(metadata.name) === undefined)) return false;
    this.#current = next;
    this.#starting.delete(source);
    before?.end.abort();
    const names = [...(before?.copies.list() ?? []), ...next.copies.list()].map(({ metadata }) => metadata.name);
    for (const name of new Set(names)) this.#onCopy(name);
    this.#dependencies.log.debug({ source }, 'maintenances are watched');
    // An empty list changes nothing that a watch reports, and the agent acts upon it too.
    this.#dependencies.onChange();
    return true;
  }

  /** Whether the notes cannot be used, though the API server answers: they are too large, or may not be read. */
  isStuck(): boolean {
    const running = this.#current?.source === 'note' ? this.#current : this.#starting.get('note');
    if (running === undefined) return false;
    const waitedMs = this.#dependencies.clock.monotonic() - running.startedAt;
    return running.copies.isIncomplete() || (!running.copies.synced() && waitedMs > NOTE_MS);
  }
}

/** Chooses the source by the Lease of the controller, again and again, and at once on demand. */
class SourceChoice {
  readonly #clock: ClusterDependencies['clock'];
  readonly #lease: LeaseReader;
  readonly #sources: MaintenanceSources;
  #demand = new AbortController();
  #isHeld = false;

  constructor(clock: ClusterDependencies['clock'], lease: LeaseReader, sources: MaintenanceSources) {
    this.#clock = clock;
    this.#lease = lease;
    this.#sources = sources;
  }

  /** From now on all are watched, until the Lease shows that a controller lives. */
  wantAll(): void {
    if (this.#sources.current?.source !== 'all') this.#demand.abort();
  }

  holdAll(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld) this.wantAll();
  }

  async run(signal: AbortSignal): Promise<void> {
    // Which of the two is needed is known in a moment; the smaller one costs nothing meanwhile.
    this.#sources.start('note', signal);
    while (!signal.aborted) {
      const isDemanded = this.#demand.signal.aborted;
      if (isDemanded) this.#demand = new AbortController();
      const wanted = isDemanded || this.#isHeld ? 'all' : await this.#decide(signal);
      const source = wanted ?? this.#sources.current?.source;
      if (source === undefined) await this.#clock.sleep(RETRY_MS, signal).catch(() => undefined);
      else await this.#follow(source, wanted === undefined ? RETRY_MS : LEASE_EVERY_MS, signal);
    }
  }

  /** The source to use; undefined where the API server does not answer. */
  async #decide(signal: AbortSignal): Promise<MaintenanceSource | undefined> {
    const reading = await this.#lease.look(LEASE_AGE_MS, signal);
    if (reading.kind === 'unanswered') return undefined;
    return reading.kind === 'refused' ? 'all' : decideSource(this.#sources.current?.source, reading);
  }

  /** Waits until the source is used, and then for the rest of the time; a source that is stuck is given up. */
  async #follow(wanted: MaintenanceSource, ms: number, signal: AbortSignal): Promise<void> {
    const clock = this.#clock;
    const until = clock.monotonic() + ms;
    this.#sources.start(wanted, signal);
    while (!signal.aborted && clock.monotonic() < until && !this.#demand.signal.aborted) {
      const source = wanted === 'note' && this.#sources.isStuck() ? 'all' : wanted;
      this.#sources.start(source, signal);
      const pauseMs = this.#sources.use(source) ? until - clock.monotonic() : SYNC_MS;
      await clock.sleep(Math.max(1, pauseMs), AbortSignal.any([signal, this.#demand.signal])).catch(() => undefined);
    }
  }
}

/**
 * Creates the watch. While a controller lives that writes notes onto Nodes, an agent sees only what concerns its own node; else
 * it watches all maintenances. `onCopy` is called with the name of every copy that changed, before the agent is woken for it.
 */
export function createMaintenanceWatch(
  dependencies: ClusterDependencies,
  lease: LeaseReader,
  onCopy: (name: string) => void,
): MaintenanceWatch {
  const { clock, nodeName, onChange } = dependencies;
  const get = (name: string): NodeMaintenance | undefined => sources.current?.copies.get(name);
  const significant = createSignificantChanges(nodeName, get);
  const wantAll = (): void => {
    choice.wantAll();
  };
  const changed = (name: string): void => {
    onCopy(name);
    if (significant.changed(name)) onChange();
  };
  const sources = new MaintenanceSources(dependencies, changed, wantAll);
  const choice = new SourceChoice(clock, lease, sources);
  const list = (): readonly NodeMaintenance[] => sources.current?.copies.list() ?? [];
  return {
    synced: () => sources.current !== undefined,
    heardAt: () => {
      const at = sources.current?.copies.heardAt() ?? 0;
      return at === 0 ? undefined : at;
    },
    get,
    list,
    drains: () => drainsOfNode(list(), nodeName),
    watchesAll: () => sources.current?.source === 'all',
    wantAll,
    holdAll: (isHeld) => {
      choice.holdAll(isHeld);
    },
    run: async (signal) => {
      try {
        await choice.run(signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  };
}
