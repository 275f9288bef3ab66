import { nodesThatStay } from '../../decide/disruption-budget/staying-node.ts';
import { nodeGoneForGood } from '../../decide/shutdown/machine-going-down.ts';
import type { ControllerContext } from '../context.ts';

/** For so long a look is good for further nodes. */
const VIEW_MS = 1_000;

/** Creates what tells whether budgets are asked for the pods of a node whose machine goes down. */
export function createBudgetsAsked({
  maintenances,
  nodes,
  clock,
}: Pick<ControllerContext, 'maintenances' | 'nodes' | 'clock'>): (node: string) => boolean {
  let view: { readonly at: number; readonly staying: readonly string[] } | undefined;
  return (node) => {
    // Copies that are behind may not show the nodes that stay.
    if (![nodes, maintenances].every((copy) => copy.current())) return true;
    const at = clock.monotonic();
    if (view === undefined || at - view.at >= VIEW_MS) {
      const drains = [...maintenances.drains.names].flatMap((name) => maintenances.get(name) ?? []);
      const gone = new Set(drains.flatMap((drain) => nodeGoneForGood(drain) ?? []));
      view = { at, staying: nodesThatStay(nodes.list(), gone, clock.now()) };
    }
    return view.staying.some((name) => name !== node);
  };
}
