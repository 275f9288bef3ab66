/** What a drain took from this node's cluster, given back by the agent while no controller is alive to do it. */
import { syncCordon } from '../../../kube/maintenance/cordon.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';
import type { SelfGates } from './gates.ts';

/** The cordon of the node and the gates of its DaemonSet pods after a maintenance. */
export interface GiveBack {
  /** Notes that a maintenance of the node is in progress: when it is over, both have to be given back. */
  owe(): void;
  /** Notes that a controller is alive, which gives both back itself. */
  leaveToController(): void;
  /** Whether anything may have to be given back. */
  isOwed(): boolean;
  /** Gives back what is owed; `mayAct` is asked right before each write. Throws API_UNREACHABLE and API_REFUSED. */
  pass(mayAct: () => Promise<boolean>, signal: AbortSignal): Promise<void>;
}

/** `isAfterShutdown` answers for an agent that has just started: whether the node still has the drain of a shutdown. */
export function createGiveBack(
  { client, log, nodeName }: ClusterDependencies,
  gates: SelfGates,
  isAfterShutdown: () => boolean,
): GiveBack {
  let cordon: 'unknown' | 'owed' | 'clear' = 'unknown';
  const isCordonOwed = (): boolean => cordon === 'owed' || (cordon === 'unknown' && isAfterShutdown());
  return {
    owe: () => {
      cordon = 'owed';
      gates.arm();
    },
    leaveToController: () => {
      cordon = 'clear';
      gates.leaveToController();
    },
    isOwed: () => isCordonOwed() || gates.isArmed(isAfterShutdown()),
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
