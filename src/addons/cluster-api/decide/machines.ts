/** Which Machines get a hook, and which lose theirs. A Machine belongs to the node that its own status names. */
import type { Machine } from '../../../api/machine.ts';
import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Node } from '../../../api/pod.ts';
import { firstNames } from '../../../decide/name-list.ts';
import { hookPatch, isToStay, type MachinePatch, unhookPatch } from './machine-hook.ts';

/** All objects of the cluster that are looked at. */
interface ClusterFacts {
  readonly nodes: readonly Node[];
  readonly maintenances: readonly NodeMaintenance[];
  readonly machines: readonly Machine[];
  /** The Machine, as NAMESPACE/NAME, that a node names in its annotations; undefined where it names none. */
  readonly namedBy: (node: Node) => string | undefined;
}

/** A Machine that gets its hook, or loses it. */
export interface HookChange {
  readonly kind: 'hook' | 'unhook';
  readonly machine: Machine;
  readonly patch: MachinePatch;
}

interface HookDecision {
  readonly changes: readonly HookChange[];
  /** Sentences about Machines that get no hook though a node that is drained asks for it. */
  readonly refusals: readonly string[];
}

const MOST_NAMES = 5;

function keyOf({ metadata: { namespace = 'default', name } }: Machine): string {
  return `${namespace}/${name}`;
}

/** Why the Machine that the node names in its annotations does not wait for it; undefined where it may. */
function refusedClaim(node: Node, named: Machine | undefined): string | undefined {
  const { name } = node.metadata;
  const owner = named?.status?.nodeRef?.name;
  if (named === undefined || owner === name) return undefined;
  const is = owner === undefined ? 'names no node' : `names the node ${owner}`;
  return `node ${name} names the Machine ${keyOf(named)}, but the Machine ${is}: it does not wait for node ${name}`;
}

/**
 * The changes of hooks. A node may write its own annotations, so they decide nothing: what a wrong one names is told in a
 * refusal. Where several Machines name one node, none of them gets a hook.
 */
export function decideHooks({ nodes, maintenances, machines, namedBy }: ClusterFacts): HookDecision {
  const byNode = Map.groupBy(machines, ({ status }) => status?.nodeRef?.name);
  const byKey = new Map(machines.map((machine) => [keyOf(machine), machine]));
  const wanted = new Set<Machine>();
  const refusals: string[] = [];
  for (const node of maintenances.length === 0 ? [] : nodes.filter((each) => isToStay(maintenances, each))) {
    const { name } = node.metadata;
    const [machine, ...others] = byNode.get(name) ?? [];
    if (machine !== undefined && others.length === 0) wanted.add(machine);
    if (machine !== undefined && others.length > 0) {
      const names = firstNames([machine, ...others].map(keyOf).toSorted(), MOST_NAMES);
      refusals.push(`the Machines ${names} all name the node ${name}: none of them waits for its drain`);
    }
    const refused = refusedClaim(node, byKey.get(namedBy(node) ?? ''));
    if (refused !== undefined) refusals.push(refused);
  }
  const changes = machines.flatMap((machine): readonly HookChange[] => {
    const kind = wanted.has(machine) ? 'hook' : 'unhook';
    const patch = kind === 'hook' ? hookPatch(machine) : unhookPatch(machine);
    return patch === undefined ? [] : [{ kind, machine, patch }];
  });
  return { changes, refusals };
}
