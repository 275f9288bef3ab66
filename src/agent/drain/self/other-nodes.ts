import type { Lease } from '../../../api/lease.ts';
import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Node } from '../../../api/pod.ts';
import { nodesThatStay } from '../../../decide/disruption-budget/staying-node.ts';
import { goesDownNow, nodeGoneForGood } from '../../../decide/shutdown/machine-going-down.ts';
import { describeError, NodemaintError } from '../../../errors.ts';
import type { ObjectPage } from '../../../kube/list.ts';
import { collectionPath, LEASES, sendForObject } from '../../../kube/resource.ts';
import { createLogOnce } from '../../../telemetry/log-once.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';

/** Whether other nodes stay while this one goes down, as far as its agent can see without a controller. */
interface OtherNodes {
  /**
   * Looks at the Leases of the other nodes where the machine of this one goes down; `maintenances` are all of the cluster.
   * Returns what says why budgets are not asked for the pods of this node, as a sentence; undefined where they are. Throws
   * API_UNREACHABLE.
   */
  look(maintenances: readonly NodeMaintenance[], signal: AbortSignal): Promise<() => string | undefined>;
  forget(): void;
}

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

export function createOtherNodes({
  client,
  clock,
  log,
  nodeName,
  aheadMs = () => 0,
}: Pick<ClusterDependencies, 'client' | 'clock' | 'log' | 'nodeName' | 'aheadMs'>): OtherNodes {
  let isLast = false;
  let lookedAt: number | undefined;
  const warnOnce = createLogOnce((reason) => {
    log.warn(
      { reason },
      'cannot see whether other nodes stay: PodDisruptionBudgets are asked as long as no controller is alive',
    );
  });
  /** Whether a node of the Leases stays, page by page. */
  const findsAny = async (gone: ReadonlySet<string>, signal: AbortSignal): Promise<boolean> => {
    for (let next = ''; ; ) {
      const query = new URLSearchParams({ limit: String(PAGE), ...(next === '' ? {} : { continue: next }) }).toString();
      const path = `${collectionPath(LEASES, NODE_LEASES)}?${query}`;
      const page = await sendForObject<ObjectPage<Lease>>(client, { method: 'GET', path }, [], signal);
      const nodes = (page?.items ?? []).map(nodeOf);
      if (nodesThatStay(nodes, gone, clock.now() - aheadMs()).length > 0) return true;
      next = page?.metadata?.continue ?? '';
      if (next === '') return false;
    }
  };
  const update = async (maintenances: readonly NodeMaintenance[], signal: AbortSignal): Promise<void> => {
    if (!maintenances.some((each) => goesDownNow(each) === nodeName)) {
      isLast = false;
      return;
    }
    const now = clock.monotonic();
    if (lookedAt !== undefined && now - lookedAt < EVERY_MS) return;
    lookedAt = now;
    const gone = new Set([nodeName, ...maintenances.flatMap((each) => nodeGoneForGood(each) ?? [])]);
    isLast = false;
    try {
      isLast = !(await findsAny(gone, signal));
      warnOnce(undefined);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
      warnOnce(describeError(error));
    }
  };
  const why = `No PodDisruptionBudget is asked: node ${nodeName} goes down, no nodemaint controller is alive, and no other node stays.`;
  return {
    look: async (maintenances, signal) => {
      await update(maintenances, signal);
      return () => (isLast ? why : undefined);
    },
    forget: () => {
      isLast = false;
      lookedAt = undefined;
    },
  };
}
