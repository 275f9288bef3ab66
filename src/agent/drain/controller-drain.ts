import type { OwnMaintenances } from '../cluster/own-maintenances.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import { drainedFor, type Drainer, type DrainerFacts, type DrainPass } from './drainer.ts';
import type { KubeletInterceptor } from '../static-pods/interceptor.ts';
import { UnaskedBudgets } from './unasked-budgets.ts';
import { isRunning } from '../static-pods/view.ts';
import { agentNodeOf } from '../../decide/maintenance/maintenance.ts';
import { effectiveDrains } from '../../decide/static-pod/parked.ts';
import { goesDownSince } from '../../decide/staying-pod/returning-pod.ts';

/** Its cordon is read again after this time. */
const NODE_AGE_MS = 15_000;

interface ControllerDrainParts {
  readonly own: Pick<OwnMaintenances, 'isDrained' | 'awaitsVolumes'>;
  readonly ownNode: Pick<OwnNode, 'observe'>;
  readonly interceptor: Pick<KubeletInterceptor, 'observe'>;
}

/** The drain by the controller: the agent lets static pods leave when their EvictionRequests ask its interceptor. */
export class ControllerDrainer implements Drainer {
  readonly #unasked: UnaskedBudgets;
  readonly #parts: ControllerDrainParts;

  constructor(dependencies: ConstructorParameters<typeof UnaskedBudgets>[0], parts: ControllerDrainParts) {
    this.#unasked = new UnaskedBudgets(dependencies);
    this.#parts = parts;
  }

  async pass(
    { record, view, retention, keepParked, maintenances }: DrainerFacts,
    signal: AbortSignal,
  ): Promise<DrainPass> {
    const { own, ownNode, interceptor } = this.#parts;
    const drains = effectiveDrains(retention);
    const name = drainedFor(record.phase);
    const wantsMirrors = view.parked.some((pod) => pod.thisBoot && !keepParked(pod));
    const { unasked, ...intent } = await interceptor.observe(view, drains, wantsMirrors, signal);
    const refusal = await this.#unasked.endBlocked(maintenances, signal);
    const seen = name === undefined ? undefined : await ownNode.observe(NODE_AGE_MS, signal);
    const object = seen?.kind === 'present' ? seen.node : undefined;
    const shutdown = maintenances.find(({ metadata }) => metadata.name === name);
    const node = shutdown === undefined ? undefined : agentNodeOf(shutdown);
    const downSince = node === undefined ? undefined : goesDownSince(maintenances, { name: node }, object);
    // The API server does not know of every static pod.
    const isEnding = view.live !== undefined && view.parked.some((pod) => isRunning(pod, view));
    const isDone = name !== undefined && own.isDrained(name);
    const drained = isDone && unasked.length === 0 && !isEnding;
    const what = `the API server does not tell of the static pods ${unasked.join(', ')}`;
    const stalled = isDone && unasked.length > 0 ? what : refusal;
    const awaitsVolumes = name !== undefined && own.awaitsVolumes(name);
    return { ...intent, stalled, drained, waiting: [], downSince, awaitsVolumes };
  }
}
