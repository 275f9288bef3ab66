/**
 * The hook that keeps Cluster API from draining and deleting a Machine while a maintenance of ours drains its node. It is an
 * annotation of Cluster API's with our name; a label finds the Machines that have it.
 */
import {
  type Machine,
  MACHINE_ANNOTATION,
  MACHINE_NAMESPACE_ANNOTATION,
  PRE_DRAIN_HOOK,
  PRE_TERMINATE_HOOK,
} from '../../api/machine.ts';
import { MACHINE_HOOK_LABEL } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { firstNames } from '../names.ts';
import { selectsNode, stageOf } from '../maintenance/maintenance.ts';

export const MACHINE_HOOK = `${PRE_DRAIN_HOOK}nodemaint`;
/** The value of the hook names its owner. One of our name with another value is somebody else's. */
const OWNER = 'nodemaint';

/** Which Machine a node belongs to. */
export interface MachineRef {
  readonly namespace: string;
  readonly name: string;
}

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** The Machine that the node names itself; undefined where it names none. A node may write what it likes: `hookPatch` checks. */
export function machineOf({ metadata }: Node): MachineRef | undefined {
  const name = metadata.annotations?.[MACHINE_ANNOTATION] ?? '';
  const namespace = metadata.annotations?.[MACHINE_NAMESPACE_ANNOTATION] ?? '';
  return NAME.test(name) && NAME.test(namespace) ? { namespace, name } : undefined;
}

/** Whether a drain of the node is under way or waits for its turn, so that its Machine has to stay. */
export function wantsMachine(maintenances: readonly NodeMaintenance[], node: Node): boolean {
  const isDraining = maintenances.some((each) => stageOf(each) === 'Drain' && selectsNode(each, node));
  const drained = node.status?.conditions?.find(({ type }) => type === 'Drained');
  return isDraining && !(drained?.status === 'True' && drained.reason === 'DrainCompleted');
}

/** A merge patch of a Machine. */
export interface MachinePatch {
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly annotations: Readonly<Record<string, string | null>>;
    readonly labels: Readonly<Record<string, string | null>>;
  };
}

/** Whether the hook on the Machine is the one that this program has set. */
export function hasOwnHook({ metadata }: Machine): boolean {
  return metadata.annotations?.[MACHINE_HOOK] === OWNER;
}

function patchOf(
  { metadata: { resourceVersion } }: Machine,
  annotations: MachinePatch['metadata']['annotations'],
  label: string | null,
): MachinePatch {
  const guard = resourceVersion === undefined ? {} : { resourceVersion };
  return { metadata: { ...guard, annotations, labels: { [MACHINE_HOOK_LABEL]: label } } };
}

/**
 * Sets the hook for a node; undefined where it is there, where the Machine is none of that node's by Cluster API's own word, and
 * where it is being deleted already: Cluster API reads its hooks when a deletion begins.
 */
export function hookPatch(machine: Machine, nodeName: string): MachinePatch | undefined {
  const { annotations, deletionTimestamp } = machine.metadata;
  if (machine.status?.nodeRef?.name !== nodeName || deletionTimestamp !== undefined) return undefined;
  return annotations?.[MACHINE_HOOK] === undefined ? patchOf(machine, { [MACHINE_HOOK]: OWNER }, 'true') : undefined;
}

/** Takes the hook away, and the label; undefined where neither of ours is there. */
export function unhookPatch(machine: Machine): MachinePatch | undefined {
  const isLabelled = machine.metadata.labels?.[MACHINE_HOOK_LABEL] !== undefined;
  if (hasOwnHook(machine)) return patchOf(machine, { [MACHINE_HOOK]: null }, null);
  return isLabelled ? patchOf(machine, {}, null) : undefined;
}

const MOST_NAMES = 5;

/** What Cluster API is doing to the node of that name, for people; undefined where it does nothing, or the Machine is of another. */
export function describeMachineDeletion({ metadata, status }: Machine, nodeName: string): string | undefined {
  if (metadata.deletionTimestamp === undefined || status?.nodeRef?.name !== nodeName) return undefined;
  const hooks = Object.keys(metadata.annotations ?? {}).filter(
    (key) => key.startsWith(PRE_DRAIN_HOOK) || key.startsWith(PRE_TERMINATE_HOOK),
  );
  const waits = hooks.length === 0 ? '' : `; it waits for the hooks ${firstNames(hooks.toSorted(), MOST_NAMES)}`;
  return `Cluster API is deleting the node with its Machine ${metadata.namespace}/${metadata.name}${waits}`;
}
