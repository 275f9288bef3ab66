import { isDeepStrictEqual } from 'node:util';
import { concerns, createMaintenanceTransform } from './copy-trimming.ts';
import type { ClusterDependencies } from './dependencies.ts';
import type { KubeObject } from '../../api/meta.ts';
import { AGENT_LABEL, NODE_NOTE_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { drainsOfNode, isInProgress, type NodeDrain } from '../../decide/maintenance/maintenance.ts';
import { decideSource, type MaintenanceSource, readNodeNote } from '../../decide/maintenance/node-note.ts';
import { nodeLabel } from '../../decide/node-label.ts';
import type { LeaseLife } from '../../decide/shutdown/drainer.ts';
import { describeError } from '../../errors.ts';
import { NODE_MAINTENANCES, NODES } from '../../kube/resource.ts';
import { createObjectCache } from '../../kube/watch.ts';

/** Copies of NodeMaintenances, and the watches that keep them current. */
interface MaintenanceCopies {
  /** Whether the first lists have arrived. */
  synced(): boolean;
  /** When the API server answered last, in milliseconds since the epoch; 0 before its first answer. */
  heardAt(): number;
  get(name: string): NodeMaintenance | undefined;
  list(): readonly NodeMaintenance[];
  /** Whether there are others that concern the node, of which nothing is known here. */
  isIncomplete(): boolean;
  run(signal: AbortSignal): Promise<void>;
}

/** The maintenances of the node as the note on its Node object has them, by name. */
interface Note {
  readonly isIncomplete: boolean;
  readonly maintenances: ReadonlyMap<string, NodeMaintenance>;
}

const EMPTY: Note = { isIncomplete: false, maintenances: new Map() };

function noteOf(node: KubeObject | undefined, nodeName: string): Note {
  const note = readNodeNote(node?.metadata.annotations?.[NODE_NOTE_ANNOTATION], nodeName);
  if (note.kind === 'unknown') return { ...EMPTY, isIncomplete: true };
  return { ...EMPTY, maintenances: new Map(note.maintenances.map((each) => [each.metadata.name, each])) };
}

/** Of a Node only its note is kept. */
function trimNode({ metadata: { name, uid, resourceVersion, annotations } }: KubeObject): KubeObject {
  const note = annotations?.[NODE_NOTE_ANNOTATION];
  return {
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(note === undefined ? {} : { annotations: { [NODE_NOTE_ANNOTATION]: note } }),
    },
  };
}

/**
 * The maintenances of this node alone: those that its agent made, by their label, and what the controller's note on the Node
 * says of others. Neither watch brings anything of other nodes. `onCopy` is called with the name of every copy that changed,
 * `onIncomplete` where a note cannot say everything.
 */
function createNotedMaintenances(
  dependencies: ClusterDependencies,
  onCopy: (name: string) => void,
  onIncomplete: () => void,
): MaintenanceCopies {
  const { nodeName } = dependencies;
  const labelSelector = `${AGENT_LABEL}=${nodeLabel(nodeName)}`;
  const own = createObjectCache<NodeMaintenance>(
    { resource: NODE_MAINTENANCES, labelSelector },
    onCopy,
    dependencies,
    createMaintenanceTransform(nodeName),
  );
  let text: string | undefined;
  let note = EMPTY;
  const node = createObjectCache<KubeObject>(
    { resource: NODES, fieldSelector: `metadata.name=${nodeName}` },
    () => {
      const found = node.get(nodeName);
      const latest = found?.metadata.annotations?.[NODE_NOTE_ANNOTATION];
      if (latest === text) return;
      const before = note;
      text = latest;
      note = noteOf(found, nodeName);
      for (const name of new Set([...before.maintenances.keys(), ...note.maintenances.keys()])) onCopy(name);
      if (note.isIncomplete) onIncomplete();
    },
    dependencies,
    trimNode,
  );
  return {
    synced: () => own.synced() && node.synced(),
    heardAt: () => Math.max(own.heardAt(), node.heardAt()),
    get: (name) => own.get(name) ?? note.maintenances.get(name),
    list: () => [
      ...own.list(),
      ...[...note.maintenances.values()].filter(({ metadata }) => own.get(metadata.name) === undefined),
    ],
    isIncomplete: () => note.isIncomplete,
    run: async (signal) => {
      await Promise.all([own.run(signal), node.run(signal)]);
    },
  };
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

/** The maintenance without what each write of it changes. */
function unversioned(maintenance: NodeMaintenance | undefined): unknown {
  const { resourceVersion: _, ...metadata } = maintenance?.metadata ?? { name: '' };
  return { ...maintenance, metadata };
}

/** Copies, and what ends their watches. */
interface Running {
  readonly copies: MaintenanceCopies;
  readonly end: AbortController;
}

/**
 * The NodeMaintenances that concern this node. What this agent made and what the note on its Node says is watched always; all of
 * the cluster only while no controller lives that writes notes, or where these say too little. There is no gap between the two:
 * the copies of one count until the lists of the other have arrived.
 */
export class NodeMaintenances {
  readonly #dependencies: ClusterDependencies;
  readonly #lease: LeaseReader;
  readonly #onCopy: (name: string) => void;
  /** Those that concern the node, as they were shown last. */
  readonly #shown = new Map<string, NodeMaintenance>();
  readonly #noted: MaintenanceCopies;
  #all: Running | undefined;
  #source: MaintenanceSource | undefined;
  #startedAt = 0;
  #demand = new AbortController();
  #isHeld = false;

  /** `onCopy` is called with the name of every copy that changed, before the agent is woken for it. */
  constructor(dependencies: ClusterDependencies, lease: LeaseReader, onCopy: (name: string) => void) {
    this.#dependencies = dependencies;
    this.#lease = lease;
    this.#onCopy = onCopy;
    const onNoted = (name: string): void => {
      if (this.#source === 'note') this.#changed(name);
    };
    this.#noted = createNotedMaintenances(dependencies, onNoted, () => {
      this.wantAll();
    });
  }

  /** Whether the first list has arrived. */
  synced(): boolean {
    return this.#source !== undefined;
  }

  /** When the API server answered last, in milliseconds since the epoch; undefined before its first answer. */
  heardAt(): number | undefined {
    const at = this.#copies()?.heardAt() ?? 0;
    return at === 0 ? undefined : at;
  }

  get(name: string): NodeMaintenance | undefined {
    return this.#copies()?.get(name);
  }

  list(): readonly NodeMaintenance[] {
    return this.#copies()?.list() ?? [];
  }

  /** All drains of this node. */
  drains(): readonly NodeDrain[] {
    return drainsOfNode(this.list(), this.#dependencies.nodeName);
  }

  /**
   * Whether all NodeMaintenances of the cluster are watched; of one that does not concern this node only the name is known
   * then. Else what the note on the Node says may be late: nothing that must not be done too early follows from it.
   */
  watchesAll(): boolean {
    return this.#source === 'all';
  }

  /** Asks for a watch on all of them, because no controller is alive that would write the note. */
  wantAll(): void {
    if (this.#source !== 'all') this.#demand.abort();
  }

  /** Whether all of them are watched whatever the Lease of a controller shows, from now on. */
  holdAll(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld) this.wantAll();
  }

  /** Watches until `signal` is aborted: by the Lease of the controller, which is read again and again, and at once on demand. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#dependencies;
    this.#startedAt = clock.monotonic();
    this.#watch(this.#noted, signal);
    let wanted: MaintenanceSource | undefined;
    let dueAt = 0;
    while (!signal.aborted) {
      const isDemanded = this.#demand.signal.aborted;
      if (isDemanded) this.#demand = new AbortController();
      if (isDemanded || clock.monotonic() >= dueAt) {
        wanted = isDemanded || this.#isHeld ? 'all' : await this.#decide(signal).catch(() => undefined);
        dueAt = clock.monotonic() + (wanted === undefined ? RETRY_MS : LEASE_EVERY_MS);
      }
      const isUsed = this.#use(wanted ?? this.#source, signal);
      const pauseMs = isUsed ? dueAt - clock.monotonic() : SYNC_MS;
      const until = AbortSignal.any([signal, this.#demand.signal]);
      await clock.sleep(Math.max(1, pauseMs), until).catch(() => undefined);
    }
  }

  #copies(): MaintenanceCopies | undefined {
    return this.#source === 'note' ? this.#noted : this.#source && this.#all?.copies;
  }

  #changed(name: string): void {
    this.#onCopy(name);
    const { nodeName, onChange } = this.#dependencies;
    const found = this.get(name);
    const before = this.#shown.get(name);
    this.#shown.delete(name);
    const isConcerning = found !== undefined && concerns(found, nodeName);
    if (isConcerning) this.#shown.set(name, found);
    if (isConcerning ? !isDeepStrictEqual(unversioned(before), unversioned(found)) : before !== undefined) onChange();
  }

  #watch(copies: MaintenanceCopies, signal: AbortSignal): void {
    copies.run(signal).catch((error: unknown) => {
      this.#dependencies.log.error({ reason: describeError(error) }, 'watch on maintenances failed');
    });
  }

  /** The source to use; undefined where the API server does not answer. */
  async #decide(signal: AbortSignal): Promise<MaintenanceSource | undefined> {
    const reading = await this.#lease.look(LEASE_AGE_MS, signal);
    if (reading.kind === 'unanswered') return undefined;
    return reading.kind === 'refused' ? 'all' : decideSource(this.#source, reading);
  }

  /** Whether the notes cannot be used, though the API server answers: they are too large, or may not be read. */
  #isStuck(): boolean {
    const waitedMs = this.#dependencies.clock.monotonic() - this.#startedAt;
    return this.#noted.isIncomplete() || (!this.#noted.synced() && waitedMs > NOTE_MS);
  }

  /** Goes by the source if its lists have arrived; returns whether it does. A source that is stuck is given up. */
  #use(wanted: MaintenanceSource | undefined, signal: AbortSignal): boolean {
    if (wanted === undefined) return false;
    const source = wanted === 'note' && this.#isStuck() ? 'all' : wanted;
    if (source === 'all') this.#all ??= this.#startAll(signal);
    const next = source === 'note' ? this.#noted : this.#all?.copies;
    if (next === undefined || (this.#source !== source && !this.#change(source, next))) return false;
    if (source === 'note') this.#endAll();
    return true;
  }

  #startAll(signal: AbortSignal): Running {
    const end = new AbortController();
    const trim = createMaintenanceTransform(this.#dependencies.nodeName);
    const onCopy = (name: string): void => {
      if (this.#source === 'all') this.#changed(name);
    };
    const scope = { resource: NODE_MAINTENANCES };
    const cache = createObjectCache<NodeMaintenance>(scope, onCopy, this.#dependencies, trim);
    const copies = { ...cache, isIncomplete: () => false };
    this.#watch(copies, AbortSignal.any([signal, end.signal]));
    return { copies, end };
  }

  #endAll(): void {
    this.#all?.end.abort();
    this.#all = undefined;
  }

  #change(source: MaintenanceSource, next: MaintenanceCopies): boolean {
    if (!next.synced() || next.isIncomplete()) return false;
    const before = this.list();
    // What the other watch has shown already must not seem to be deleted, and the controller may have notes to write.
    const shown = before.filter((each) => isInProgress(each) && concerns(each, this.#dependencies.nodeName));
    if (shown.some(({ metadata }) => next.get(metadata.name) === undefined)) return false;
    this.#source = source;
    for (const name of new Set([...before, ...next.list()].map(({ metadata }) => metadata.name))) this.#changed(name);
    this.#dependencies.log.debug({ source }, 'maintenances are watched');
    // An empty list changes nothing that a watch reports, and the agent acts upon it too.
    this.#dependencies.onChange();
    return true;
  }
}
