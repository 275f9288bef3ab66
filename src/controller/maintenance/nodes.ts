import { CORDONED_ANNOTATION, NODE_NOTE_ANNOTATION } from '../../api/names.ts';
import { identityOf } from '../../decide/maintenance/recorded-node.ts';
import { isKeptByAll, keptBy } from '../../decide/kept-pods/kept-pods.ts';
import { drainsOn, stageOf } from '../../decide/maintenance/maintenance.ts';
import { areVolumesLeft } from '../../decide/volume/wait.ts';
import { drainPodOf } from '../../decide/pod.ts';
import { type Undone, undoneAgain, undoneRestMs } from '../../decide/eviction/back-off.ts';
import { nodeNote } from '../../decide/maintenance/node-note.ts';
import { nodeStateOf } from '../../decide/maintenance/node-conditions.ts';
import { type ConditionsIntent, syncConditions } from '../../kube/maintenance/node-conditions.ts';
import { needsCordonWrite, syncCordon } from '../../kube/maintenance/cordon.ts';
import { after, type Loop } from '../../kube/loop/loops.ts';
import type { Reconcile } from '../../kube/queue.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';
import type { Refusals } from './refusals.ts';

/** More than there are connections for what nobody waits for: its writes wait for one and keep no other step from running. */
const PARALLEL = 64;
/** What an empty node says changes together with what its maintenance does, which is decided first. */
const EMPTY_NODE_WAITS_MS = 1_000;

/** What becomes of a node. */
interface NodeIntent extends Required<ConditionsIntent> {
  /** Whether load balancers are to leave it out. */
  readonly leavesOut: boolean;
}

/**
 * Keeps the node cordoned while a maintenance wants it, and gives it back when none does (KEP-4212, "Cordon", "Uncordon"),
 * with the note for its agent. Returns whether it has changed the node.
 */
async function keepCordon(
  { client, events, log }: ControllerContext,
  intent: NodeIntent,
  signal: AbortSignal,
): Promise<boolean> {
  const { node, annotations, leavesOut } = intent;
  const { maintenances } = intent.state;
  const { name } = node.metadata;
  const outcome = await syncCordon(client, { node, wantedBy: maintenances, annotations, leavesOut }, signal);
  if (outcome !== 'changed') return outcome === 'annotated';
  log.info({ node: name, maintenances }, maintenances.length > 0 ? 'cordoned node' : 'uncordoned node');
  if (!isReverted(intent)) return true;
  const message = `Node ${name} was uncordoned during maintenance (${maintenances.join(', ')}); cordoned again. Complete the maintenance to uncordon it.`;
  const subject = { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name } };
  events.record(subject, { type: 'Warning', reason: 'CordonReverted', message });
  return true;
}

/** Whether somebody has uncordoned the node: the annotation says that it was cordoned for a maintenance before. */
function isReverted({ node: { metadata, spec }, state }: NodeIntent): boolean {
  const wasCordoned = metadata.annotations?.[CORDONED_ANNOTATION] !== undefined;
  return wasCordoned && spec?.unschedulable !== true && state.maintenances.length > 0;
}

/** One step of one node, by its name: its cordon and its conditions are what the maintenances in progress make of them. */
function createNodeReconciler(context: ControllerContext, refusals: Refusals): Reconcile {
  /** Of the nodes that people uncordon during a maintenance, by their names. */
  const uncordoned = new Map<string, Undone>();
  return async (name, signal) => {
    return await refusals.during(name, signal, async () => {
      const node = context.nodes.get(name);
      if (node === undefined) {
        uncordoned.delete(name);
        return {};
      }
      // Of a status of very many nodes, they have what concerns this one.
      const known = context.maintenances.on(name);
      const drains = known.filter((each) => stageOf(each) === 'Drain');
      // Nodes without a drain change often, and their pods say nothing.
      const isEmpty = drains.length > 0 && context.pods.on(name).every((pod) => isKeptByAll(drains, drainPodOf(pod)));
      const isLeft = isEmpty && context.options.maxVolumeTime > 0 && areVolumesLeft(node, known);
      const state = nodeStateOf(known, node, isEmpty && !isLeft);
      const wanting = state.maintenances.flatMap((each) => known.find(({ metadata }) => metadata.name === each) ?? []);
      const annotations = { [NODE_NOTE_ANNOTATION]: nodeNote(wanting, identityOf(node.metadata)) };
      const leavesOut = context.options.excludeFromLoadBalancers && drainsOn(wanting, node).length > 0;
      const intent = { node, state, annotations, leavesOut };
      const report = (): Promise<boolean> => syncConditions(context.client, intent, context.clock.now(), signal);
      // Without a change of the cordon, the note changes in the same write as the conditions, or in one of its own.
      const isCordonDue = needsCordonWrite(node, { wantedBy: state.maintenances, leavesOut });
      if (!isCordonDue && (await report())) return {};
      if (state.maintenances.length === 0) uncordoned.delete(name);
      const restMs = isReverted(intent) ? undoneRestMs(uncordoned.get(name), context.clock.monotonic()) : 0;
      if (restMs > 0) {
        await report();
        return { againMs: restMs };
      }
      let changed: boolean;
      try {
        changed = await keepCordon(context, intent, signal);
      } catch (error) {
        // A node that cannot be cordoned says all the same that it is under maintenance, and its agent learns of its targets.
        await report();
        throw error;
      }
      if (isReverted(intent)) uncordoned.set(name, undoneAgain(uncordoned.get(name), context.clock.monotonic()));
      // A node that was changed comes back into the queue.
      if (!changed) await report();
      return {};
    });
  };
}

/** The loop over nodes, by their names. */
export function nodeLoop(context: ControllerContext, refusals: Refusals): Loop<Changes> {
  const { nodes, maintenances } = context;
  const keepsPods = (name: string): boolean => maintenances.on(name).some((each) => keptBy(each).length > 0);
  return {
    name: 'nodes',
    parallel: PARALLEL,
    reconcile: createNodeReconciler(context, refusals),
    // Evictions wait for the cordon, and nothing for the conditions of other nodes.
    order: {
      isUrgent: (name) => nodes.get(name)?.spec?.unschedulable !== true && maintenances.unsettledOn(name).length > 0,
    },
    concerns: {
      Node: ({ name }) => [name],
      // Where pods stay, each one that leaves may be the last that was to.
      Pod: ({ nodes: on, turned }) => after(EMPTY_NODE_WAITS_MS, [...turned, ...on.filter(keepsPods)]),
    },
  };
}
