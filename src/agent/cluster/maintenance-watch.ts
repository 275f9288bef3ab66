import { isDeepStrictEqual } from 'node:util';
import { concerns, createMaintenanceTransform } from './copy-trimming.ts';
import type { ClusterDependencies } from './dependencies.ts';
import { createOnDemandWatch, type OnDemandWatch } from './on-demand-watch.ts';
import type { KubeObject } from '../../api/meta.ts';
import { AGENT_LABEL, NODE_NOTE_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { drainsOfNode, isInProgress, type NodeDrain } from '../../decide/maintenance/maintenance.ts';
import { decideSource, type MaintenanceSource, readNodeNote } from '../../decide/maintenance/node-note.ts';
import { nodeLabel } from '../../decide/node-label.ts';
import type { LeaseLife } from '../../decide/shutdown/drainer.ts';
import { NODE_MAINTENANCES, NODES } from '../../kube/resource.ts';
import { pick } from '../../kube/cache/transform.ts';
import { createObjectCache, type ObjectCache, type WatchScope } from '../../kube/watch.ts';

/** The maintenances of the node as the note on its Node object has them, by name; undefined where it cannot say all of them. */
type Note = ReadonlyMap<string, NodeMaintenance> | undefined;

function noteOf(node: KubeObject | undefined, nodeName: string): Note {
  const note = readNodeNote(node?.metadata.annotations?.[NODE_NOTE_ANNOTATION], nodeName);
  return note.kind === 'known' ? new Map(note.maintenances.map((each) => [each.metadata.name, each])) : undefined;
}

/** Of a Node only its note is kept. */
function trimNode({ metadata }: KubeObject): KubeObject {
  const note = metadata.annotations?.[NODE_NOTE_ANNOTATION];
  const annotations = note === undefined ? {} : { annotations: { [NODE_NOTE_ANNOTATION]: note } };
  return { metadata: { ...pick(metadata, ['name', 'uid', 'resourceVersion']), ...annotations } };
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

/**
 * The NodeMaintenances that concern this node. Those that this agent made, by their label, and the note on its Node, by which the
 * controller tells of others, are watched always: neither brings anything of other nodes. All of the cluster are watched only
 * while no controller lives that writes notes, or where these say too little. There is no gap between the two: the copies of one
 * source count until the lists of the other have arrived.
 */
export class NodeMaintenances {
  readonly #dependencies: ClusterDependencies;
  readonly #lease: LeaseReader;
  readonly #onCopy: (name: string) => void;
  /** Those that concern the node, as they were shown last. */
  readonly #shown = new Map<string, NodeMaintenance>();
  readonly #own: ObjectCache<NodeMaintenance>;
  readonly #node: ObjectCache<KubeObject>;
  readonly #all: OnDemandWatch<NodeMaintenance>;
  #noteText: string | undefined;
  #note: Note = new Map();
  #source: MaintenanceSource | undefined;
  readonly #ended = new AbortController();
  #startedAt = 0;
  #demand = new AbortController();
  #isHeld = false;

  /** `onCopy` is called with the name of every copy that changed, before the agent is woken for it. */
  constructor(dependencies: ClusterDependencies, lease: LeaseReader, onCopy: (name: string) => void) {
    const { log, nodeName } = dependencies;
    this.#dependencies = dependencies;
    this.#lease = lease;
    this.#onCopy = onCopy;
    const labelSelector = `${AGENT_LABEL}=${nodeLabel(nodeName)}`;
    const open = (source: MaintenanceSource, more: Partial<WatchScope>): ObjectCache<NodeMaintenance> => {
      const onChange = (name: string): void => {
        if (this.#source === source) this.#changed(name);
      };
      const scope = { resource: NODE_MAINTENANCES, ...more };
      return createObjectCache(scope, onChange, dependencies, createMaintenanceTransform(nodeName));
    };
    this.#own = open('note', { labelSelector });
    this.#all = createOnDemandWatch(() => open('all', {}), this.#ended.signal, log);
    const onNode = (): void => {
      this.#readNote();
    };
    const ownNode = { resource: NODES, fieldSelector: `metadata.name=${nodeName}` };
    this.#node = createObjectCache(ownNode, onNode, dependencies, trimNode);
  }

  /** Whether the first list has arrived. */
  synced(): boolean {
    return this.#source !== undefined;
  }

  /** When the API server answered last, in milliseconds since the epoch; undefined before its first answer. */
  heardAt(): number | undefined {
    const at = Math.max(...[this.#own, this.#node, this.#all.current()].map((copy) => copy?.heardAt() ?? 0));
    return at === 0 ? undefined : at;
  }

  get(name: string): NodeMaintenance | undefined {
    if (this.#source === 'all') return this.#all.current()?.get(name);
    return this.#source && (this.#own.get(name) ?? this.#note?.get(name));
  }

  list(): readonly NodeMaintenance[] {
    return this.#listOf(this.#source);
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
    const watching = [this.#own.run(signal), this.#node.run(signal)];
    let wanted: MaintenanceSource | undefined;
    let dueAt = 0;
    while (!signal.aborted) {
      const isDemanded = this.#demand.signal.aborted;
      if (isDemanded) this.#demand = new AbortController();
      if (isDemanded || clock.monotonic() >= dueAt) {
        wanted = isDemanded || this.#isHeld ? 'all' : await this.#decide(signal).catch(() => undefined);
        dueAt = clock.monotonic() + (wanted === undefined ? RETRY_MS : LEASE_EVERY_MS);
      }
      const isUsed = this.#use(wanted ?? this.#source);
      const pauseMs = isUsed ? dueAt - clock.monotonic() : SYNC_MS;
      const until = AbortSignal.any([signal, this.#demand.signal]);
      await clock.sleep(Math.max(1, pauseMs), until).catch(() => undefined);
    }
    this.#ended.abort();
    await Promise.all(watching);
  }

  #listOf(source: MaintenanceSource | undefined): readonly NodeMaintenance[] {
    if (source === undefined) return [];
    if (source === 'all') return this.#all.current()?.list() ?? [];
    const noted = [...(this.#note?.values() ?? [])].filter(
      ({ metadata }) => this.#own.get(metadata.name) === undefined,
    );
    return [...this.#own.list(), ...noted];
  }

  /** Wakes the agent where what it goes by has changed. */
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

  #readNote(): void {
    const { nodeName } = this.#dependencies;
    const node = this.#node.get(nodeName);
    const text = node?.metadata.annotations?.[NODE_NOTE_ANNOTATION];
    if (text === this.#noteText) return;
    const before = this.#note;
    this.#noteText = text;
    this.#note = noteOf(node, nodeName);
    const names = new Set([...(before?.keys() ?? []), ...(this.#note?.keys() ?? [])]);
    if (this.#source === 'note') for (const name of names) this.#changed(name);
    if (this.#note === undefined) this.wantAll();
  }

  /** The source to use; undefined where the API server does not answer. */
  async #decide(signal: AbortSignal): Promise<MaintenanceSource | undefined> {
    const reading = await this.#lease.look(LEASE_AGE_MS, signal);
    if (reading.kind === 'unanswered') return undefined;
    return reading.kind === 'refused' ? 'all' : decideSource(this.#source, reading);
  }

  /** Whether the lists of the source have arrived and say everything. */
  #isReady(source: MaintenanceSource): boolean {
    if (source === 'all') return this.#all.current()?.synced() === true;
    return this.#own.synced() && this.#node.synced() && this.#note !== undefined;
  }

  /** Whether the notes cannot be used, though the API server answers: they are too large, or may not be read. */
  #isStuck(): boolean {
    const waitedMs = this.#dependencies.clock.monotonic() - this.#startedAt;
    return this.#note === undefined || (!this.#isReady('note') && waitedMs > NOTE_MS);
  }

  /** Goes by the source if its lists have arrived; returns whether it does. A source that is stuck is given up. */
  #use(wanted: MaintenanceSource | undefined): boolean {
    if (wanted === undefined) return false;
    const source = wanted === 'note' && this.#isStuck() ? 'all' : wanted;
    if (source === 'all') this.#all.start();
    if (this.#source !== source && !this.#change(source)) return false;
    if (source === 'note') this.#all.stop();
    return true;
  }

  #change(source: MaintenanceSource): boolean {
    if (!this.#isReady(source)) return false;
    const before = this.list();
    const next = new Set(this.#listOf(source).map(({ metadata }) => metadata.name));
    // What the other watch has shown already must not seem to be deleted, and the controller may have notes to write.
    const shown = before.filter((each) => isInProgress(each) && concerns(each, this.#dependencies.nodeName));
    if (shown.some(({ metadata }) => !next.has(metadata.name))) return false;
    this.#source = source;
    for (const name of new Set([...before.map(({ metadata }) => metadata.name), ...next])) this.#changed(name);
    this.#dependencies.log.debug({ source }, 'maintenances are watched');
    // An empty list changes nothing that a watch reports, and the agent acts upon it too.
    this.#dependencies.onChange();
    return true;
  }
}
