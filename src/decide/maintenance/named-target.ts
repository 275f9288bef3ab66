import { BOOT_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { nodeStatusesOf } from './recorded-node.ts';
import { agentNodeOf, isInProgress, selectsNode, stageOf } from './maintenance.ts';

/** A node or a maintenance as a person names it; without a kind it may be either. */
interface MaintenanceTarget {
  readonly kind?: 'node' | 'maintenance';
  readonly name: string;
}

/** What a name stands for. */
type ResolvedTarget =
  | { readonly kind: 'node'; readonly node: Node; readonly maintenances: readonly NodeMaintenance[] }
  | { readonly kind: 'maintenance'; readonly maintenance: NodeMaintenance; readonly nodes: readonly Node[] }
  | { readonly kind: 'failed'; readonly message: string };

/** The names of the nodes that a maintenance selects or has a status for, sorted. */
export function nodesOf(maintenance: NodeMaintenance, nodes: readonly Node[]): readonly string[] {
  const selected = nodes.filter((node) => selectsNode(maintenance, node)).map(({ metadata }) => metadata.name);
  const known = nodeStatusesOf(maintenance.status).map(({ nodeRef }) => nodeRef.name);
  return [...new Set([...selected, ...known])].toSorted();
}

/** What a name stands for among the objects of a cluster. */
export function resolveTarget(
  { kind, name }: MaintenanceTarget,
  maintenances: readonly NodeMaintenance[],
  nodes: readonly Node[],
): ResolvedTarget {
  const node = kind === 'maintenance' ? undefined : nodes.find(({ metadata }) => metadata.name === name);
  const maintenance = kind === 'node' ? undefined : maintenances.find(({ metadata }) => metadata.name === name);
  if (node !== undefined && maintenance !== undefined) {
    const message = `"${name}" is the name of a node and of a NodeMaintenance: write node/${name} or nm/${name}`;
    return { kind: 'failed', message };
  }
  if (node !== undefined) {
    return { kind: 'node', node, maintenances: maintenances.filter((each) => selectsNode(each, node)) };
  }
  if (maintenance !== undefined) {
    const selected = nodes.filter((each) => selectsNode(maintenance, each));
    return { kind: 'maintenance', maintenance, nodes: selected };
  }
  if (kind === undefined) {
    return { kind: 'failed', message: `"${name}" not found, neither as a node nor as a NodeMaintenance` };
  }
  const plural = { node: 'nodes', maintenance: 'nodemaintenances' }[kind];
  return { kind: 'failed', message: `${plural} "${name}" not found` };
}

/** Which maintenances a person means to complete. */
interface CompletionChoice {
  readonly chosen: readonly NodeMaintenance[];
  readonly failures: readonly string[];
  /** What is there to know about names without anything to complete. */
  readonly notes: readonly string[];
}

function idleNote(node: Node): string {
  const is = `node/${node.metadata.name} is not under maintenance`;
  return node.spec?.unschedulable === true
    ? `${is}; a person has cordoned it, see: kubectl uncordon ${node.metadata.name}`
    : is;
}

/** The node whose shutdown, which goes on, this maintenance drains; undefined where it does not, or nobody knows that it does. */
function runningShutdownOf(maintenance: NodeMaintenance, nodes: readonly Node[]): string | undefined {
  const name = agentNodeOf(maintenance);
  const bootId = nodes.find(({ metadata }) => metadata.name === name)?.status?.nodeInfo?.bootID ?? '';
  const isOfThisBoot = bootId !== '' && maintenance.metadata.annotations?.[BOOT_ANNOTATION] === bootId;
  return isOfThisBoot && stageOf(maintenance) === 'Drain' ? name : undefined;
}

/**
 * The maintenances that the names stand for: a maintenance itself, or those in progress over a node, as long as all their
 * nodes are named, for completing one gives all its nodes back (KEP-4212, "Uncordon"). With `also`, those that are complete
 * already count too, except what a node's own agent keeps.
 */
export function chooseForCompletion(
  targets: readonly MaintenanceTarget[],
  maintenances: readonly NodeMaintenance[],
  nodes: readonly Node[],
  also: boolean,
): CompletionChoice {
  const resolved = targets.map((target) => resolveTarget(target, maintenances, nodes));
  const named = new Set(resolved.flatMap((each) => (each.kind === 'node' ? [each.node.metadata.name] : [])));
  const chosen = new Set<NodeMaintenance>();
  const [failures, notes] = [new Set<string>(), new Set<string>()];
  for (const each of resolved) {
    if (each.kind === 'failed') failures.add(each.message);
    if (each.kind === 'maintenance') chosen.add(each.maintenance);
    if (each.kind !== 'node') continue;
    const own = each.maintenances.filter((maintenance) => {
      const isOver = stageOf(maintenance) === 'Complete' && agentNodeOf(maintenance) === undefined;
      return isInProgress(maintenance) || (also && isOver);
    });
    if (own.length === 0) notes.add(idleNote(each.node));
    for (const maintenance of own) {
      const others = nodesOf(maintenance, nodes).filter((name) => !named.has(name));
      const { name } = maintenance.metadata;
      const goesDown = runningShutdownOf(maintenance, nodes);
      if (goesDown !== undefined) {
        const would = 'completing it lets the machine go down in two minutes, also with pods that still run';
        const fix = `to complete it all the same: nodemaint complete nm/${name}`;
        failures.add(
          `nodemaintenance/${name} belongs to the shutdown of node/${goesDown}, which is under way; ${would}; ${fix}`,
        );
      } else if (others.length === 0) chosen.add(maintenance);
      else {
        const more = others.map((other) => `node/${other}`).join(', ');
        const fix = `to complete it for all its nodes: nodemaint complete nm/${name}`;
        failures.add(`nodemaintenance/${name} also covers ${more}; ${fix}`);
      }
    }
  }
  return { chosen: [...chosen], failures: [...failures], notes: [...notes] };
}
