import type { Lease } from '../../../api/lease.ts';
import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import {
  nodeThatStays,
  observeLeases,
  type SeenLeases,
  whyNotAskedAlone,
} from '../../../decide/disruption-budget/other-nodes.ts';
import { goesDownNow } from '../../../decide/shutdown/machine-going-down.ts';
import { describeError, NodemaintError } from '../../../errors.ts';
import type { ObjectPage } from '../../../kube/list.ts';
import { collectionPath, LEASES, sendForObject } from '../../../kube/resource.ts';
import { createLogOnce } from '../../../telemetry/log-once.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';

/** Whether other nodes stay while this one goes down, as far as its agent can see without a controller. */
export interface OtherNodes {
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

/** The Leases up to the page that has one of a node that stays. */
async function readLeases(
  { client, clock }: Pick<ClusterDependencies, 'client' | 'clock'>,
  { seen, goingDown }: { readonly seen: SeenLeases | undefined; readonly goingDown: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<SeenLeases> {
  const leases: Lease[] = [];
  let next = '';
  for (;;) {
    const query = new URLSearchParams({ limit: String(PAGE), ...(next === '' ? {} : { continue: next }) }).toString();
    const path = `${collectionPath(LEASES, NODE_LEASES)}?${query}`;
    const page = await sendForObject<ObjectPage<Lease>>(client, { method: 'GET', path }, [], signal);
    leases.push(...(page?.items ?? []));
    next = page?.metadata?.continue ?? '';
    const now = clock.monotonic();
    const found = observeLeases(seen, leases, goingDown, now);
    if (next === '' || nodeThatStays(found, now, clock.now()) !== undefined) return found;
  }
}

export function createOtherNodes({ client, clock, log, nodeName }: ClusterDependencies): OtherNodes {
  let seen: SeenLeases | undefined;
  let lookedAt: number | undefined;
  const warnOnce = createLogOnce((reason) => {
    log.warn(
      { reason },
      'cannot see whether other nodes stay: PodDisruptionBudgets are asked as long as no controller is alive',
    );
  });

  const update = async (maintenances: readonly NodeMaintenance[], signal: AbortSignal): Promise<void> => {
    const goingDown = new Set(maintenances.flatMap((each) => goesDownNow(each) ?? []));
    if (!goingDown.has(nodeName)) {
      seen = undefined;
      return;
    }
    const now = clock.monotonic();
    if (lookedAt !== undefined && now - lookedAt < EVERY_MS) return;
    lookedAt = now;
    try {
      seen = await readLeases({ client, clock }, { seen, goingDown }, signal);
      warnOnce(undefined);
    } catch (error) {
      signal.throwIfAborted();
      seen = undefined;
      if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
      warnOnce(describeError(error));
    }
  };
  const whyNotAsked = (): string | undefined => {
    const now = clock.monotonic();
    if (seen === undefined || nodeThatStays(seen, now, clock.now()) !== undefined) return undefined;
    return whyNotAskedAlone(nodeName);
  };

  return {
    look: async (maintenances, signal) => {
      await update(maintenances, signal);
      return whyNotAsked;
    },
    forget: () => {
      seen = undefined;
      lookedAt = undefined;
    },
  };
}
