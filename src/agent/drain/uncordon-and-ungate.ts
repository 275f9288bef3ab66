/** What a drain took from this node's cluster, given back by the agent while no controller is alive to do it. */
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { isInProgress, selectsNode } from '../../decide/maintenance/maintenance.ts';
import { decideCordon } from '../../decide/maintenance/cordon.ts';
import { syncCordon } from '../../kube/maintenance/cordon.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import type { SelfGates } from './gates.ts';

/** The cordon of the node and the gates of its DaemonSet pods after a maintenance. */
export interface GiveBack {
  /** Notes that a maintenance of the node is in progress: when it is over, both have to be given back. */
  markForRevert(): void;
  /**
   * Learns once from the Node of an agent that has just started whether both are owed: it is cordoned for a maintenance, and
   * none of these selects it any more. Throws only the reason of an aborted `signal`.
   */
  find(maintenances: readonly NodeMaintenance[], signal: AbortSignal): Promise<void>;
  /** Notes that a controller is alive, which gives both back itself. */
  leaveToController(): void;
  /** Whether anything may have to be given back. */
  needsRevert(): boolean;
  /** Gives back what is owed; `mayAct` is asked right before each write. Throws API_UNREACHABLE and API_REFUSED. */
  pass(mayAct: () => Promise<boolean>, signal: AbortSignal): Promise<void>;
}

/** What an agent that has just started may have to give back. */
interface GiveBackFacts {
  readonly ownNode: Pick<OwnNode, 'observe'>;
  /** Whether the node still has the drain of a shutdown. */
  readonly isAfterShutdown: () => boolean;
}

/** A Node that could not be read, or that a maintenance selects, is looked at again after this time. */
const FIND_EVERY_MS = 30_000;

export function createGiveBack(
  { client, log, nodeName }: ClusterDependencies,
  gates: Pick<SelfGates, 'arm' | 'leaveToController' | 'isArmed' | 'release'>,
  { ownNode, isAfterShutdown }: GiveBackFacts,
): GiveBack {
  let cordon: 'unknown' | 'owed' | 'clear' = 'unknown';
  const isCordonOwed = (): boolean => cordon === 'owed' || (cordon === 'unknown' && isAfterShutdown());
  const markForRevert = (): void => {
    cordon = 'owed';
    gates.arm();
  };
  return {
    markForRevert,
    find: async (maintenances, signal) => {
      if (cordon !== 'unknown') return;
      const state = await ownNode.observe(FIND_EVERY_MS, signal);
      if (state.kind !== 'present') return;
      const { node } = state;
      if (maintenances.some((each) => isInProgress(each) && selectsNode(each, node))) return;
      if (decideCordon(node, []) !== undefined) markForRevert();
      else if (!isAfterShutdown()) cordon = 'clear';
    },
    leaveToController: () => {
      cordon = 'clear';
      gates.leaveToController();
    },
    needsRevert: () => isCordonOwed() || gates.isArmed(isAfterShutdown()),
    pass: async (mayAct, signal) => {
      if (isCordonOwed()) {
        const outcome = await syncCordon(client, { node: nodeName, wantedBy: [], mayWrite: mayAct }, signal);
        if (outcome === 'not-allowed') return;
        if (outcome === 'changed') log.info({ node: nodeName }, 'uncordoned own node');
        cordon = 'clear';
      }
      if (gates.isArmed(isAfterShutdown()) && (await mayAct())) await gates.release(signal);
    },
  };
}
