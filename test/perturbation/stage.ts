/** The part of a cluster in which one plan is played, and what a scenario does in it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CONTROLLER_LEASE_NAME, CONTROLLER_NAMESPACE, type Lease } from '../../src/api/lease.ts';
import type { NodeMaintenance } from '../../src/api/node-maintenance.ts';
import {
  collectionPath,
  DAEMON_SETS,
  DISRUPTION_BUDGETS,
  LEASES,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
  PODS,
  type Resource,
} from '../../src/kube/resource.ts';
import {
  budgetObject,
  daemonSetObject,
  HISTORY_LABEL,
  isDrained,
  nodeObject,
  podObject,
  type PodSort,
} from '../chaos/objects.ts';
import { type ClusterPart, MACHINE_NODE } from '../chaos/world.ts';
import { drainOf } from '../support/maintenance/objects.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Actor, type ActorOptions, createActor, type Running } from './actor.ts';
import type { PerturbationCluster, PlanMachine } from './cluster.ts';
import type { Plan } from './plan.ts';
import { type ControllerFlags, runControllerOf } from './programs.ts';
import type { Scope } from './scope.ts';

const LOOK_MS = 100;
/** The numbers of the node that nobody drains and of the one that is drained; a machine is that of the first node. */
const NODES_OF = { withMachine: [1, MACHINE_NODE], without: [MACHINE_NODE, 1] } as const;

/** What a scenario works with. */
export interface Stage {
  readonly part: ClusterPart;
  /** The node that is drained. */
  readonly node: string;
  /** The programs of the product that were made so far. */
  readonly actors: Actor[];
  /** How long anything may take that a scenario waits for. */
  readonly patienceMs: number;
  /** The machine of the node, where the scenario has one. */
  readonly machine: PlanMachine | undefined;
  controller(name: string, flags?: ControllerFlags): Actor;
  /** Makes another program that runs in the cluster. */
  program(name: string, run: (cluster: PerturbationCluster, running: Running) => Promise<void>): Actor;
  /** Makes the agent of the machine. Throws where the scenario has none. */
  agent(): Actor;
  /** Makes the nodes and these pods on the node that is drained, a DaemonSet with a pod on each, and a pod on the other. */
  layOut(
    sorts: readonly PodSort[],
    options?: { readonly hasStaticPod?: true; readonly budget?: 'open' | 'closed' },
  ): Promise<void>;
  /** Creates the maintenance of this name in the stage Drain. */
  drain(name: string, spec?: object): Promise<void>;
  /** Ends the maintenance as a person does. */
  complete(name: string): Promise<void>;
  maintenance(name: string): NodeMaintenance | undefined;
  isDrained(name: string): boolean;
  /** The body of what the API server answers to a cluster admin who reads this path. */
  read(path: string): Promise<unknown>;
  /** Whether one of the controllers has the Lease. */
  hasLeader(): Promise<boolean>;
  /** Waits until it is so. Rejects where it does not come to pass. */
  until(what: string, ask: () => boolean | Promise<boolean>): Promise<void>;
}

/** Takes from a name what differs from run to run: the beginning of the plan's names, UIDs, and what a DaemonSet or an agent adds. */
export function plainName({ id, changes }: Pick<ClusterPart, 'id' | 'changes'>, name: string): string {
  let plain = name;
  for (const { kind, object } of changes) {
    if (kind === 'Pod') plain = plain.replaceAll(object.metadata.uid ?? object.metadata.name, object.metadata.name);
  }
  return plain
    .replaceAll(`${id}-`, '')
    .replace(/^(set\d)-[a-z0-9]{5}/, '$1')
    .replace(/^(shutdown-.+)-[a-z0-9]$/, '$1')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '*');
}

/** Makes the stage; nothing is on the cluster yet. */
export function createStage(
  cluster: PerturbationCluster,
  part: ClusterPart,
  { plan, machine }: { readonly plan: Plan | undefined; readonly machine: PlanMachine | undefined },
): Stage {
  const { id } = part;
  const [namespace] = part.namespaces;
  const leaseNamespace = cluster.isShared ? namespace : CONTROLLER_NAMESPACE;
  const [bystander, drained] = NODES_OF[machine === undefined ? 'without' : 'withMachine'];
  const [otherNode = '', node = ''] = [part.nodeNames[bystander], part.nodeNames[drained]];
  const actors: Actor[] = [];
  const actor = (name: string, own: Scope, run: ActorOptions['run']): Actor => {
    const plain = (text: string): string => plainName(part, text);
    const made = createActor({ name, plan, scope: own, plain, run });
    actors.push(made);
    return made;
  };
  const ofAgent: Scope = { namespace, owns: part.owns };
  const scope: Scope = cluster.isShared ? { ...ofAgent, selector: `${HISTORY_LABEL}=${id}` } : ofAgent;
  const create = async (resource: Resource, body: object): Promise<void> => {
    const path = collectionPath(resource, resource.namespaced ? namespace : undefined);
    const status = await part.send({ method: 'POST', path, body });
    if (status !== 201) throw new Error(`the API server answers ${status} to ${JSON.stringify(body)}`);
  };
  const maintenance = (name: string): NodeMaintenance | undefined =>
    part.maintenances().find(({ metadata }) => metadata.name === `${id}-${name}`);
  const read: Stage['read'] = async (path) =>
    (await cluster.client.send({ method: 'GET', path }, new AbortController().signal)).body;
  const until: Stage['until'] = (what, ask) => waitFor(what, ask, { timeoutMs: cluster.patienceMs });

  return {
    part,
    node,
    actors,
    patienceMs: cluster.patienceMs,
    machine,
    controller: (name, flags = {}) =>
      actor(name, scope, (running) => runControllerOf(cluster, leaseNamespace, flags, running)),
    program: (name, run) => actor(name, scope, (running) => run(cluster, running)),
    agent: () => {
      if (machine === undefined) throw new Error('the scenario has no machine');
      // The maintenance that it makes has no label of the plan.
      return actor('agent', ofAgent, (running) => machine.runAgent(running));
    },
    layOut: async (sorts, { hasStaticPod, budget } = {}) => {
      await create({ root: '/api/v1', plural: 'namespaces', namespaced: false }, { metadata: { name: namespace } });
      for (const name of [otherNode, node]) await create(NODES, nodeObject(part, name));
      const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
      await until(
        'the namespace can have pods',
        async () => (await part.send({ method: 'GET', path: account })) === 200,
      );
      await create(DAEMON_SETS, daemonSetObject(part, 'set0', ''));
      if (budget !== undefined) await create(DISRUPTION_BUDGETS, budgetObject(namespace, budget));
      if (hasStaticPod === true) {
        part.staticPods.add(`0/${drained}`);
        await machine?.addManifest('s0', namespace);
      }
      await create(PODS, podObject('plain', 'stays', namespace, otherNode));
      for (const sort of sorts) await create(PODS, podObject(sort, sort.replaceAll(' ', '-'), namespace, node));
      const count = sorts.length + 3 + (hasStaticPod === true ? 1 : 0);
      await until(
        'all pods run',
        () => part.pods().filter(({ status }) => status?.phase === 'Running').length === count,
      );
    },
    drain: async (name, spec = {}) => {
      const object = drainOf(`${id}-${name}`, [node], spec);
      const metadata = { ...object.metadata, labels: { [HISTORY_LABEL]: id } };
      await create(NODE_MAINTENANCES, { ...object, metadata });
    },
    complete: async (name) => {
      const path = objectPath(NODE_MAINTENANCES, { name: `${id}-${name}` });
      const body = { spec: { stage: 'Complete' } };
      const status = await part.send({ method: 'PATCH', path, body, patch: { kind: 'merge' } });
      if (status !== 200) throw new Error(`the API server answers ${status} to the stage Complete of ${name}`);
    },
    read,
    maintenance,
    isDrained: (name) => {
      const found = maintenance(name);
      return found !== undefined && isDrained(found);
    },
    hasLeader: async () => {
      const lease = (await read(
        objectPath(LEASES, { name: CONTROLLER_LEASE_NAME, namespace: leaseNamespace }),
      )) as Lease;
      return (lease.spec?.holderIdentity ?? '') !== '';
    },
    until,
  };
}

/** Waits until nothing is written for `ms`, by the programs or by anybody else; who goes on writing where somebody does. */
export async function untilStill({ part, actors, patienceMs }: Stage, ms: number): Promise<string | undefined> {
  const countsOf = (): string => [part.changes.length, ...actors.map(({ trace }) => trace.written().count)].join(' ');
  const deadline = Date.now() + patienceMs + ms;
  let since = Date.now();
  for (let counts = countsOf(); Date.now() - since < ms; await sleep(Math.max(LOOK_MS, ms / 100))) {
    const now = countsOf();
    if (now === counts) continue;
    counts = now;
    since = Date.now();
    if (since <= deadline) continue;
    const { kind, key } = part.changes.at(-1) ?? {};
    return [`a change of ${kind} ${key}`, ...actors.map(({ name, trace }) => `${name} ${trace.written().last}`)].join(
      '; ',
    );
  }
  return undefined;
}
