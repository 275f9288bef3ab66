import { AGENT_LABEL, NODE_NOTE_ANNOTATION } from '../../api/names.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { readNodeNote } from '../../decide/maintenance/node-note.ts';
import { nodeLabel } from '../../decide/node-label.ts';
import { NODE_MAINTENANCES, NODES } from '../../kube/resource.ts';
import { createObjectCache } from '../../kube/watch.ts';
import type { ClusterDependencies } from './dependencies.ts';
import { createMaintenanceTransform } from './copy-trimming.ts';

/** Copies of NodeMaintenances, and the watches that keep them current. */
export interface MaintenanceCopies {
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
export function createNotedMaintenances(
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
