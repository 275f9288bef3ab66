import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { budgetCovers } from '../../decide/disruption-budget/covers.ts';
import { judgeProtection, whyNotAsked } from '../../decide/disruption-budget/protection.ts';
import {
  type NodeOutlook,
  nodesThatStay,
  observeNodes,
  type SeenNodes,
} from '../../decide/disruption-budget/staying-nodes.ts';
import { isOwnController, OWN_BUDGET_NOT_ASKED } from '../../decide/own-controller.ts';
import { goesDownNow } from '../../decide/shutdown/machine-going-down.ts';
import { isTerminal } from '../../decide/pod.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import type { Indexes } from '../cache/indexes.ts';

/** Whether PodDisruptionBudgets are asked for the pods of machines that go down. */
export interface BudgetRule {
  /** Why the budgets of this pod are not asked, as a sentence; undefined where they are, and for a pod without one. */
  whyNotAsked(pod: Pod): string | undefined;
  /** Whether that may change while nothing of the pod does, because its machine goes down. */
  mayChange(pod: Pod): boolean;
  /** Looks at all nodes every few seconds, until the signal is aborted: what is seen of a node has to last. */
  run(signal: AbortSignal): Promise<void>;
}

const READ_EVERY_MS = 5_000;
/** For so long a look is good for further evictions. */
const VIEW_MS = 1_000;

interface Parts extends Pick<Indexes, 'maintenances' | 'nodes' | 'pods'> {
  readonly budgets: ObjectCache<PodDisruptionBudget>;
  readonly clock: Clock;
}

/** The names of the nodes whose machines go down. */
function nodesGoingDown({ maintenances }: Parts): ReadonlySet<string> {
  return new Set(
    [...maintenances.drains.names].flatMap((name) => {
      const maintenance = maintenances.get(name);
      return (maintenance === undefined ? undefined : goesDownNow(maintenance)) ?? [];
    }),
  );
}

/** What is known of the nodes at a moment. */
interface View {
  /** On the monotonic clock. */
  readonly at: number;
  readonly down: ReadonlySet<string>;
  /** Undefined where nothing can be seen, or no machine goes down. */
  readonly staying: readonly NodeOutlook[] | undefined;
}

/** Creates the rule of one term: what is seen of nodes begins anew with each leader. */
export function createBudgetRule(parts: Parts): BudgetRule {
  const { maintenances, nodes, pods, budgets, clock } = parts;
  let seen: SeenNodes | undefined;
  let view: View | undefined;
  const readView = (): View => {
    const at = clock.monotonic();
    const down = nodesGoingDown(parts);
    const isSeen = down.size > 0 && [nodes, maintenances, pods, budgets].every((copy) => copy.current());
    const facts = isSeen ? nodes.list().map((node) => ({ node, goesDown: down.has(node.metadata.name) })) : [];
    seen = isSeen ? observeNodes(seen, facts, at) : undefined;
    return { at, down, staying: seen === undefined ? undefined : nodesThatStay(seen, at, clock.now()) };
  };
  /** Many evictions are judged by one view. */
  const lately = (): View => {
    if (view === undefined || clock.monotonic() - view.at >= VIEW_MS) view = readView();
    return view;
  };
  const protectsNothing = (budget: PodDisruptionBudget, pod: Pod, staying: readonly NodeOutlook[]): boolean => {
    if (judgeProtection([pod], staying).kind === 'protects') return false;
    if (staying.length === 0) return true;
    const covered = pods.list().filter((each) => budgetCovers(budget, each) && !isTerminal(each));
    return judgeProtection(covered, staying).kind === 'protects-nothing';
  };
  const goesDown = ({ spec: { nodeName = '' } }: Pod): boolean =>
    nodes.get(nodeName) !== undefined && lately().down.has(nodeName);
  return {
    mayChange: goesDown,
    whyNotAsked: (pod) => {
      const own = budgets.list().filter((budget) => budgetCovers(budget, pod));
      if (own.length === 0) return undefined;
      if (isOwnController(pod)) return OWN_BUDGET_NOT_ASKED;
      const { staying } = lately();
      if (staying === undefined || !goesDown(pod)) return undefined;
      if (!own.every((budget) => protectsNothing(budget, pod, staying))) return undefined;
      return whyNotAsked(own.map(({ metadata }) => metadata.name).toSorted(), pod.spec.nodeName ?? '');
    },
    run: async (signal) => {
      while (!signal.aborted) {
        view = readView();
        await clock.sleep(READ_EVERY_MS, signal).catch(() => undefined);
      }
    },
  };
}
