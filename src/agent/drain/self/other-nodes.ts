import type { Lease } from '../../../api/lease.ts';
import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Node } from '../../../api/pod.ts';
import { nodesThatStay } from '../../../decide/disruption-budget/staying-node.ts';
import { goesDownNow, nodeGoneForGood } from '../../../decide/reboot/turn.ts';
import { describeError, NodemaintError } from '../../../errors.ts';
import type { ObjectPage } from '../../../kube/list.ts';
import { collectionPath, LEASES } from '../../../kube/resource.ts';
import { sendForObject } from '../../../kube/request.ts';
import { createWarnOnce } from '../../../telemetry/log-once.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';

const NODE_LEASES = 'kube-node-lease';
const EVERY_MS = 10_000;
/** Of a large cluster some nodes stay nearly always: no more pages are read when one is found. */
const PAGE = 100;

/** The node as its Lease shows it: silent since its kubelet renewed it last. */
function nodeOf({ metadata, spec }: Lease): Node {
  const { name, creationTimestamp } = metadata;
  const since = spec?.renewTime ?? creationTimestamp ?? null;
  return {
    metadata: { name },
    status: { conditions: [{ type: 'Ready', status: 'Unknown', lastTransitionTime: since }] },
  };
}

/** Whether other nodes stay while this one goes down, as far as its agent can see without a controller. */
export class OtherNodes {
  readonly #dependencies: Pick<ClusterDependencies, 'client' | 'clock' | 'log' | 'nodeName' | 'aheadMs'>;
  readonly #warnOnce;
  /** Whether the last look found none, and when that was, on the monotonic clock. */
  #isLast = false;
  #lookedAt = -Infinity;

  constructor(dependencies: Pick<ClusterDependencies, 'client' | 'clock' | 'log' | 'nodeName' | 'aheadMs'>) {
    this.#dependencies = dependencies;
    const what = 'PodDisruptionBudgets are asked as long as no controller is alive';
    this.#warnOnce = createWarnOnce(dependencies.log, `cannot see whether other nodes stay: ${what}`);
  }

  /**
   * Looks at the Leases of the other nodes where the machine of this one goes down; `maintenances` are all of the cluster. Returns
   * why budgets are not asked for the pods of this node, as a sentence; undefined where they are. Throws API_UNREACHABLE.
   */
  async whyNotAsked(maintenances: readonly NodeMaintenance[], signal: AbortSignal): Promise<string | undefined> {
    const { clock, nodeName } = this.#dependencies;
    const now = clock.monotonic();
    if (!maintenances.some((each) => goesDownNow(each) === nodeName)) this.#isLast = false;
    else if (now - this.#lookedAt >= EVERY_MS) {
      this.#lookedAt = now;
      this.#isLast = false;
      const gone = new Set([nodeName, ...maintenances.flatMap((each) => nodeGoneForGood(each) ?? [])]);
      try {
        this.#isLast = !(await this.#findsAny(gone, signal));
        this.#warnOnce(undefined);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
        this.#warnOnce(describeError(error));
      }
    }
    if (!this.#isLast) return undefined;
    return `No PodDisruptionBudget is asked: node ${nodeName} goes down, no nodemaint controller is alive, and no other node stays.`;
  }

  forget(): void {
    this.#isLast = false;
    this.#lookedAt = -Infinity;
  }

  /** Whether a node of the Leases stays, page by page. */
  async #findsAny(gone: ReadonlySet<string>, signal: AbortSignal): Promise<boolean> {
    const { client, clock, aheadMs = () => 0 } = this.#dependencies;
    for (let next = ''; ; ) {
      const query = new URLSearchParams({ limit: String(PAGE), ...(next === '' ? {} : { continue: next }) }).toString();
      const path = `${collectionPath(LEASES, NODE_LEASES)}?${query}`;
      const page = await sendForObject<ObjectPage<Lease>>(client, { method: 'GET', path }, [], signal);
      const nodes = (page?.items ?? []).map(nodeOf);
      if (nodesThatStay(nodes, gone, clock.now() - aheadMs()).length > 0) return true;
      next = page?.metadata?.continue ?? '';
      if (next === '') return false;
    }
  }
}
