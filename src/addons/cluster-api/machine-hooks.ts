import type { Machine } from '../../api/machine.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { ServiceDependencies } from '../../kube/service/service.ts';
import {
  API_GROUPS,
  type ApiGroup,
  MACHINE_API_GROUP,
  machineOf,
  machinesOf,
} from '../../kube/maintenance/machines.ts';
import { keyOf, NODE_MAINTENANCES, NODES, objectPath, type Resource, sendForObject } from '../../kube/resource.ts';
import { createObjectCache, type ObjectCache } from '../../kube/watch.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import { decideHooks, type HookChange } from './decide/machines.ts';

/** How often the copies are looked at; no request is made where they ask for no change. */
const POLL_MS = 2_000;
/** How often it is asked which version of Cluster API the cluster prefers. */
const ASK_EVERY_MS = 60_000;

/** The live copies of what the hooks are decided from. */
interface Copies {
  readonly nodes: ObjectCache<Node>;
  readonly maintenances: ObjectCache<NodeMaintenance>;
  readonly machines: ObjectCache<Machine>;
}

/** What is read of a node: whether a maintenance selects it, whether it is drained, and which Machine it names. */
function trimmedNode({ metadata, status }: Node): Node {
  const { name, resourceVersion, labels = {}, annotations = {} } = metadata;
  const conditions = status?.conditions?.filter(({ type }) => type === 'Drained') ?? [];
  return {
    metadata: { name, labels, annotations, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    status: { conditions },
  };
}

/** The key of the Machine that the node names itself. */
function namedBy(node: Node): string | undefined {
  const ref = machineOf(node);
  return ref && `${ref.namespace}/${ref.name}`;
}

/** Looks at the copies again and again, and changes the hooks that have to be changed. */
class MachineHooks {
  readonly #dependencies: ServiceDependencies;
  readonly #machines: Resource;
  readonly #copies: Copies;
  readonly #refused;

  constructor(dependencies: ServiceDependencies, machines: Resource, copies: Copies) {
    this.#dependencies = dependencies;
    this.#machines = machines;
    this.#copies = copies;
    this.#refused = createLogOnce((reason) => {
      dependencies.log.warn({ reason }, 'a Machine gets no hook');
    });
  }

  /** One look. Throws the first failure after all Machines were looked at. */
  async reconcile(signal: AbortSignal): Promise<void> {
    const { nodes, maintenances, machines } = this.#copies;
    // An old copy, or none, would take hooks away that are needed.
    if (![nodes, maintenances, machines].every((copy) => copy.synced() && copy.current())) return;
    const facts = { nodes: nodes.list(), maintenances: maintenances.list(), machines: machines.list(), namedBy };
    const { changes, refusals } = decideHooks(facts);
    this.#refused(refusals[0]);
    const failures: unknown[] = [];
    for (const change of changes) {
      await this.#change(change, signal).catch((error: unknown) => failures.push(error));
      signal.throwIfAborted();
    }
    if (failures.length > 0) throw failures[0];
  }

  async #change({ kind, machine, patch: body }: HookChange, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#dependencies;
    const path = objectPath(this.#machines, machine.metadata);
    const request = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
    // Where the Machine is gone, or somebody has changed it, the next look decides anew.
    if ((await sendForObject(client, request, [404, 409], signal)) === undefined) return;
    const subject = { machine: keyOf(machine), node: machine.status?.nodeRef?.name };
    if (kind === 'hook') log.info(subject, 'Cluster API waits with the Machine until its node is drained');
    else log.info(subject, 'Cluster API no longer waits with the Machine');
  }
}

/** Keeps the hooks of the Machines of one version of Cluster API until the signal is aborted. */
async function keepHooks(
  dependencies: ServiceDependencies,
  machines: Resource,
  others: Omit<Copies, 'machines'>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = dependencies;
  const copy = createObjectCache<Machine>({ resource: machines }, () => undefined, dependencies);
  const hooks = new MachineHooks(dependencies, machines, { ...others, machines: copy });
  const failed = createLogOnce((reason) => {
    log.warn({ reason }, 'hooks of Machines cannot be kept, trying again');
  });
  const looking = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await hooks.reconcile(signal);
        failed(undefined);
      } catch (error) {
        if (signal.aborted) return;
        failed(error instanceof NodemaintError ? `${error.code}: ${describeError(error)}` : describeError(error));
      }
      await clock.sleep(POLL_MS, signal).catch(() => undefined);
    }
  };
  await Promise.all([copy.run(signal), looking()]);
}

/** The Machines in the version that the cluster prefers; undefined where it serves none, or cannot be asked. */
async function findMachines({ client, log }: ServiceDependencies, signal: AbortSignal): Promise<Resource | undefined> {
  try {
    const path = objectPath(API_GROUPS, MACHINE_API_GROUP);
    return machinesOf(await sendForObject<ApiGroup>(client, { method: 'GET', path }, [404], signal));
  } catch (error) {
    if (!signal.aborted) log.warn({ reason: describeError(error) }, 'cannot ask for the version of Cluster API');
    return undefined;
  }
}

/**
 * Keeps a hook on the Machine of each node that a maintenance drains, and takes every hook of ours back that nothing wants,
 * until `signal` is aborted. Never rejects; a failure is logged once.
 */
export async function runMachineHooks(dependencies: ServiceDependencies, signal: AbortSignal): Promise<void> {
  const { clock, log } = dependencies;
  const others = {
    nodes: createObjectCache<Node>({ resource: NODES }, () => undefined, dependencies, trimmedNode),
    maintenances: createObjectCache<NodeMaintenance>(
      { resource: NODE_MAINTENANCES },
      () => undefined,
      dependencies,
      ({ metadata, spec }) => ({ metadata, spec }),
    ),
  };
  const following = async (): Promise<void> => {
    let known: Resource | undefined;
    let keeping: { readonly end: AbortController; readonly done: Promise<void> } | undefined;
    const absent = createLogOnce((reason) => {
      log.info({ reason }, 'there are no Machines yet');
    });
    while (!signal.aborted) {
      const found = await findMachines(dependencies, signal);
      absent(found === undefined && known === undefined ? 'the cluster does not serve cluster.x-k8s.io' : undefined);
      if (found !== undefined && found.root !== known?.root) {
        keeping?.end.abort();
        await keeping?.done;
        known = found;
        const end = new AbortController();
        keeping = { end, done: keepHooks(dependencies, found, others, AbortSignal.any([signal, end.signal])) };
      }
      await clock.sleep(ASK_EVERY_MS, signal).catch(() => undefined);
    }
    await keeping?.done;
  };
  await Promise.all([others.nodes.run(signal), others.maintenances.run(signal), following()]);
}
