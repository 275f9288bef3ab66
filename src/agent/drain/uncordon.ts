/** What a drain took from this node's cluster, given back by the agent while no controller is alive to do it. */
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { isInProgress, selectsNode } from '../../decide/maintenance/maintenance.ts';
import { decideCordon } from '../../decide/maintenance/cordon.ts';
import { syncCordon } from '../../kube/maintenance/cordon.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import type { GateRelease } from '../daemon-set/gate.ts';

/** What an agent that has just started may have to give back. */
interface GiveBackParts {
  readonly gates: Pick<GateRelease, 'begin' | 'isDue' | 'release'>;
  readonly ownNode: Pick<OwnNode, 'observe'>;
  /** Whether the node still has the drain of a shutdown. */
  readonly isAfterShutdown: () => boolean;
}

/** A Node that could not be read, or that a maintenance selects, is looked at again after this time. */
const FIND_EVERY_MS = 30_000;

/** The cordon of the node and the gates of its DaemonSet pods after a maintenance. */
export class GiveBack {
  readonly #dependencies: Pick<ClusterDependencies, 'client' | 'log' | 'nodeName'>;
  readonly #parts: GiveBackParts;
  /** What is owed; an agent that has just started does not know, and owes both after a shutdown. */
  #owed: 'unknown' | 'both' | 'gates' | 'nothing' = 'unknown';

  constructor(dependencies: Pick<ClusterDependencies, 'client' | 'log' | 'nodeName'>, parts: GiveBackParts) {
    this.#dependencies = dependencies;
    this.#parts = parts;
  }

  /** Notes that a maintenance of the node is in progress: when it is over, both have to be given back. */
  markForRevert(): void {
    this.#owed = 'both';
    this.#parts.gates.begin();
  }

  /**
   * Learns once from the Node of an agent that has just started whether both are owed: it is cordoned for a maintenance, and
   * none of these selects it any more. Throws only the reason of an aborted `signal`.
   */
  async find(maintenances: readonly NodeMaintenance[], signal: AbortSignal): Promise<void> {
    if (this.#owed !== 'unknown') return;
    const state = await this.#parts.ownNode.observe(FIND_EVERY_MS, signal);
    if (state.kind !== 'present') return;
    const { node } = state;
    if (maintenances.some((each) => isInProgress(each) && selectsNode(each, node))) return;
    if (decideCordon(node, []) !== undefined) this.markForRevert();
    else if (!this.#parts.isAfterShutdown()) this.#owed = 'nothing';
  }

  /** Notes that a controller is alive, which gives both back itself. */
  leaveToController(): void {
    this.#owed = 'nothing';
  }

  /** Whether anything may have to be given back now. */
  needsRevert(): boolean {
    const { gates, isAfterShutdown } = this.#parts;
    if (this.#owed === 'unknown') return isAfterShutdown();
    return this.#owed === 'both' || (this.#owed === 'gates' && gates.isDue());
  }

  /** Gives back what is owed; `mayAct` is asked right before each write. Throws API_UNREACHABLE and API_REFUSED. */
  async pass(mayAct: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    if (!this.needsRevert()) return;
    if (this.#owed !== 'gates') {
      const { client, log, nodeName: node } = this.#dependencies;
      const outcome = await syncCordon(client, { node, wantedBy: [], mayWrite: mayAct }, signal);
      if (outcome === 'not-allowed') return;
      if (outcome === 'changed') log.info({ node }, 'uncordoned own node');
      this.#owed = 'gates';
    }
    const { gates } = this.#parts;
    if (gates.isDue() && (await mayAct()) && (await gates.release(signal))) this.#owed = 'nothing';
  }
}
