/** A fleet while its history is played: machines, the cluster around them, and who reaches the API server. */
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import type { KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { collectionPath, DISRUPTION_BUDGETS } from '../../../src/kube/resource.ts';
import type { Random } from '../../chaos/random.ts';
import { actOnRequests } from '../../chaos/stand-ins/interceptors.ts';
import type { ClusterPart } from '../../chaos/world.ts';
import { createModelServer, type ModelServer } from '../api-server/server.ts';
import { Network } from '../network.ts';
import type { RunController } from '../replicas.ts';
import { admitted } from '../stand-ins/admission.ts';
import { runBudgets } from '../stand-ins/controllers.ts';
import type { VirtualTime } from '../time.ts';
import { createRecord, type Record } from '../world.ts';
import { Access } from './access.ts';
import { type ControlledCluster, nodeOf, runControllers } from './controllers.ts';
import { runKubelet } from './kubelet.ts';
import { FleetMachine, type MachineEvents } from './machine.ts';
import { ReplicaPods } from './replica-pods.ts';
import type { Settings, Workload } from './settings.ts';

/** Controllers and kubelets act so long after a change, and so often without one. */
const REACTION_MS = 150;
const TICK_MS = 10_000;
/** Nothing happens where no pod and no node has changed for so long; then a look in so many milliseconds is enough. */
const CALM_MS = 60_000;
const CALM_TICK_MS = 30_000;
/** The heart of an interceptor beats so often. */
const BEAT_MS = 5 * 60_000;
const OUTSIDE = 'outside';
const API_SERVER = 'kube-apiserver';
const PROXY = 'nginx-proxy';

/** Told what happens in a fleet, before it has consequences. */
export type FleetWatcher = Pick<MachineEvents, 'stopping' | 'goesDown' | 'goesOnAlone' | 'ended'> & {
  /** A program of the product sends a request that the API server will carry out. */
  asked(program: string, request: KubeRequest): void;
  /** Kubelets and controllers have acted, which they do every half a minute at the latest. */
  looked(): void;
};

/** Everything that a fleet is made of. */
export interface FleetParts {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly settings: Settings;
  readonly runController: RunController;
}

/** A fleet of machines. */
export class Fleet implements ControlledCluster {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly settings: Settings;
  readonly server: ModelServer;
  readonly record: Record;
  readonly network: Network;
  readonly machines: readonly FleetMachine[];
  workloads: readonly Workload[];
  /** Why programs of the product ended by themselves. */
  readonly failures: unknown[] = [];
  watcher: FleetWatcher = {
    asked: () => undefined,
    looked: () => undefined,
    stopping: () => undefined,
    goesDown: () => undefined,
    goesOnAlone: () => undefined,
    ended: () => undefined,
  };
  /** When a machine lost its power last. */
  powerCutAt = -Infinity;
  /** The program whose request is carried out now. */
  writer = '';
  readonly access: Access;
  readonly #replicas: ReplicaPods;
  #movedAt = 0;
  #isDue = false;
  #isOver = false;
  #beatAt = 0;
  constructor({ time, random, settings, runController }: FleetParts) {
    this.time = time;
    this.random = random;
    this.settings = settings;
    this.workloads = settings.workloads;
    const model = createModelServer(time.now);
    this.server = {
      objects: model.objects,
      compact: () => model.compact(),
      watch: (path) => model.watch(path),
      handle: (request, program) => this.#handle(model, request, program),
    };
    this.record = createRecord(time);
    this.network = new Network(time, this.server, random, (program, request, response) => {
      this.record.note(program, request, response);
    });
    this.network.isAway = (program) => {
      const of = this.#replicas.machineOf(program);
      if (of !== undefined) return !of.isUp() || !this.access.isReachedByPods(of);
      const machine = this.machines.find(({ user }) => user === program);
      return machine !== undefined && !this.isReached(machine);
    };
    this.#replicas = new ReplicaPods(this.network, runController, (error) => this.failures.push(error));
    this.access = new Access({
      time,
      settings,
      machines: () => this.machines,
      isControlPlaneUp: () => this.#isControlPlaneUp(),
      hasWay: (machine) => !settings.hasOwnWay || this.#runs(machine, this.isMember(machine) ? API_SERVER : PROXY),
      onChange: () => {
        this.network.breakWatches();
        this.lookAfter(REACTION_MS);
      },
    });
    const events: MachineEvents = {
      isCalm: () => this.#isCalm(),
      changed: () => this.lookAfter(REACTION_MS),
      ended: (machine, container) => {
        this.#replicas.end(container);
        this.watcher.ended(machine, container);
      },
      stopping: (machine, container) => {
        this.note(`${machine.name} the agent tells ${container.name} to end`);
        this.watcher.stopping(machine, container);
      },
      goesOnAlone: (machine) => {
        this.note(`${machine.name} the agent goes on alone`);
        this.watcher.goesOnAlone(machine);
      },
      goesDown: (machine) => {
        this.note(`${machine.name} goes down: ${JSON.stringify(machine.phase())}`);
        this.watcher.goesDown(machine);
      },
      failed: (error) => this.failures.push(error),
    };
    const names = Array.from({ length: settings.nodes }, (_, index) => `n${index}`);
    this.machines = names.map((name) => new FleetMachine(name, this.network, settings, events));
    model.objects.onChange(({ kind }) => {
      if (kind !== 'Lease' && kind !== 'Event') this.lookAfter(REACTION_MS);
      if (kind === 'Pod' || kind === 'Node') this.#movedAt = this.now();
    });
  }

  readonly now = (): number => this.time.now();

  note(what: string): void {
    this.#movedAt = this.now();
    const first = this.record.trace.length === 0 ? this.now() : this.#begun;
    this.#begun = first;
    this.record.trace.push(`${((this.now() - first) / 1_000).toFixed(3).padStart(9)} ${what}`);
  }
  #begun = 0;

  nodes(): readonly Node[] {
    return this.server.objects.list('Node');
  }

  pods(): readonly Pod[] {
    return this.server.objects.list('Pod') as readonly Pod[];
  }

  maintenances(): readonly NodeMaintenance[] {
    return this.server.objects.list('NodeMaintenance') as readonly NodeMaintenance[];
  }

  requests(): readonly EvictionRequest[] {
    return this.server.objects.list('EvictionRequest') as readonly EvictionRequest[];
  }

  isMember(machine: FleetMachine): boolean {
    return this.machines.indexOf(machine) < this.settings.members;
  }

  workloadOf({ metadata }: Pod): Workload | undefined {
    return this.workloads.find(
      ({ name, namespace }) => metadata.namespace === namespace && metadata.labels?.['app'] === name,
    );
  }

  /** Sends a request as somebody outside. */
  send(request: KubeRequest): KubeResponse {
    const response = this.server.handle(admitted(this.server, request), OUTSIDE);
    this.record.note(OUTSIDE, request, response);
    this.network.changed();
    return response;
  }

  /** The members whose part of the control plane runs. */
  serving(component: 'etcd' | 'kube-apiserver'): readonly FleetMachine[] {
    return this.machines.filter((machine) => this.isMember(machine) && this.#runs(machine, component));
  }

  #runs(machine: FleetMachine, program: string): boolean {
    return machine.isUp() && machine.containers.running().some(({ name }) => name.startsWith(`${program}-`));
  }

  #isControlPlaneUp(): boolean {
    const { members } = this.settings;
    if (members === 0) return true;
    return this.serving('etcd').length > members / 2 && this.serving('kube-apiserver').length > 0;
  }

  isReached(machine: FleetMachine): boolean {
    return machine.isUp() && this.access.isReached(machine);
  }

  #handle(model: ModelServer, request: KubeRequest, program: string): KubeResponse {
    const answer = program === OUTSIDE ? undefined : this.access.refusal(request);
    if (answer !== undefined) return answer;
    if (program !== OUTSIDE) this.watcher.asked(program, request);
    const before = this.writer;
    this.writer = program;
    try {
      return model.handle(request, program);
    } finally {
      this.writer = before;
    }
  }

  /** Acts at a write of a program so many writes from now. */
  onWrite(user: string, writes: number, act: () => void): void {
    let left = writes;
    const before = this.watcher;
    this.watcher = {
      ...before,
      asked: (program, request) => {
        before.asked(program, request);
        if (program !== user || request.method === 'GET') return;
        left -= 1;
        if (left === 0) act();
      },
    };
  }

  /** Lets controllers and kubelets act once within this time. */
  lookAfter(ms: number): void {
    if (this.#isDue || this.#isOver) return;
    this.#isDue = true;
    this.time.after(ms, () => {
      this.#isDue = false;
      if (!this.#isOver) void this.#look();
    });
  }

  async #look(): Promise<void> {
    const before = this.#reached;
    this.#reached = this.machines.filter((machine) => this.isReached(machine));
    if (before.some((machine) => !this.#reached.includes(machine))) this.network.breakWatches();
    this.access.note();
    for (const machine of this.machines) runKubelet(this, machine);
    if (this.access.isUp()) {
      runControllers(this);
      await runBudgets(this.#part(), this.server);
      await this.#runInterceptor();
    }
    this.#replicas.look(this.machines);
    this.watcher.looked();
  }
  #reached: readonly FleetMachine[] = [];

  /** The interceptor that pods name, if it is alive. */
  async #runInterceptor(): Promise<void> {
    const { interceptor } = this.settings;
    if (interceptor === 'silent' || (interceptor === 'beats' && this.now() < this.#beatAt)) return;
    this.#beatAt = this.now() + BEAT_MS;
    await actOnRequests(this.#part());
  }

  #part(): ClusterPart {
    return {
      interceptors: this.settings.interceptor,
      pods: () => this.pods(),
      nodes: () => this.nodes(),
      requests: () => this.requests(),
      send: (request: KubeRequest) => Promise.resolve(this.send(request).status),
    } as unknown as ClusterPart;
  }

  /** Replicas of the controller that somebody wants. */
  scaleController(replicas: number): void {
    this.workloads = this.workloads.map((each) => (each.role === 'controller' ? { ...each, replicas } : each));
    if (replicas === 0) {
      const pods = this.pods().filter((pod) => this.workloadOf(pod)?.role === 'controller');
      for (const { metadata } of pods) {
        this.send({ method: 'DELETE', path: `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}` });
      }
    }
    this.lookAfter(REACTION_MS);
  }

  /** Lays out nodes, static pods and budgets, and starts the agents. */
  begin(): void {
    for (const machine of this.machines) {
      this.send({ method: 'POST', path: '/api/v1/nodes', body: nodeOf(machine.name, this.isMember(machine)) });
      if (this.isMember(machine)) {
        for (const component of ['etcd', API_SERVER]) {
          machine.manifests.add(component, 'kube-system', { component, tier: 'control-plane' });
        }
      } else if (this.settings.hasOwnWay) machine.manifests.add(PROXY, 'kube-system');
      runKubelet(this, machine);
    }
    for (const { name, namespace, minAvailable } of this.workloads) {
      if (minAvailable === undefined) continue;
      const body = {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name, namespace },
        spec: { minAvailable, selector: { matchLabels: { app: name } } },
      };
      this.send({ method: 'POST', path: collectionPath(DISRUPTION_BUDGETS, namespace), body });
    }
    for (const machine of this.machines) machine.startAgent();
    this.#tick();
  }

  #isCalm(): boolean {
    return this.now() - this.#movedAt > CALM_MS;
  }

  #tick(): void {
    if (this.#isOver) return;
    this.lookAfter(1);
    this.time.after(this.#isCalm() ? CALM_TICK_MS : TICK_MS, () => this.#tick());
  }

  /** Ends all programs. */
  async end(): Promise<void> {
    this.#isOver = true;
    for (const machine of this.machines) machine.end();
    this.#replicas.endAll();
    await this.time.pass(60_000);
  }
}
