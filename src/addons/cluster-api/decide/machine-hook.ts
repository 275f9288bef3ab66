/**
 * The hook that keeps Cluster API from draining and deleting a Machine while a maintenance of ours drains its node. It is an
 * annotation of Cluster API's with our name; a label finds the Machines that have it.
 */
import { type Machine, PRE_DRAIN_HOOK } from '../../../api/machine.ts';
import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Node } from '../../../api/pod.ts';
import { nodeSelectorMatches } from '../../../decide/selector.ts';

export const MACHINE_HOOK = `${PRE_DRAIN_HOOK}nodemaint`;
/** On a Machine that has a hook of ours: "true". */
export const MACHINE_HOOK_LABEL = 'nodemaintenance.x-k8s.io/machine-hook';
/** The value of the hook names its owner. One of our name with another value is somebody else's. */
const OWNER = 'nodemaint';

/** Whether a drain of the node is under way or waits for its turn, so that its Machine has to stay. */
export function isToStay(maintenances: readonly NodeMaintenance[], node: Node): boolean {
  const { name, labels = {} } = node.metadata;
  const isDraining = maintenances.some(
    ({ metadata, spec }) =>
      spec.stage === 'Drain' &&
      metadata.deletionTimestamp === undefined &&
      nodeSelectorMatches(spec.nodeSelector, { name, labels }),
  );
  const drained = node.status?.conditions?.find(({ type }) => type === 'Drained');
  return isDraining && !(drained?.status === 'True' && drained.reason === 'DrainCompleted');
}

/** A merge patch of a Machine, which the API server refuses where the Machine has changed since it was read. */
export interface MachinePatch {
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly annotations: Readonly<Record<string, string | null>>;
    readonly labels: Readonly<Record<string, string | null>>;
  };
}

/** Whether the hook on the Machine is the one that this program has set. */
function hasOwnHook({ metadata }: Machine): boolean {
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
 * Sets the hook; undefined where one of that name is there, and where the Machine is being deleted already: Cluster API reads
 * its hooks when a deletion begins.
 */
export function hookPatch(machine: Machine): MachinePatch | undefined {
  const { annotations, deletionTimestamp } = machine.metadata;
  if (deletionTimestamp !== undefined || annotations?.[MACHINE_HOOK] !== undefined) return undefined;
  return patchOf(machine, { [MACHINE_HOOK]: OWNER }, 'true');
}

/** Takes the hook away, and the label; undefined where neither of ours is there. */
export function unhookPatch(machine: Machine): MachinePatch | undefined {
  const isLabelled = machine.metadata.labels?.[MACHINE_HOOK_LABEL] !== undefined;
  if (hasOwnHook(machine)) return patchOf(machine, { [MACHINE_HOOK]: null }, null);
  return isLabelled ? patchOf(machine, {}, null) : undefined;
}
