/** The invariants of machines that go down, judged while a history is played: by what runs, and not by what is said of it. */
import { DRAINED, type NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import { isReady, isTerminal } from '../../../src/decide/pod.ts';
import { hasBegun, nodeStatusesOf } from '../../../src/decide/maintenance/recorded-node.ts';
import { drainsOfNode, selectsNode, stageOf } from '../../../src/decide/maintenance/maintenance.ts';
import { nodeGoneForGood } from '../../../src/decide/reboot/turn.ts';
import { WAITS } from '../../../src/decide/node/waits.ts';
import { DEFAULT_VOLUME_WAIT_MS } from '../../../src/decide/volume/wait.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import { isDrained } from '../../chaos/objects.ts';
import { budgetsOf } from '../api-server/eviction.ts';
import { placeOf } from '../api-server/kinds.ts';
import type { ModelChange } from '../api-server/objects.ts';
import type { Container } from './containers.ts';
import type { Fleet } from './fleet.ts';
import type { FleetMachine } from './machine.ts';

/** The invariants, as findings name them. */
export type FleetInvariant = 'told' | 'owned' | 'budgets' | 'kept' | 'quorum' | 'complete' | 'returned' | 'runs';

/** What a history has found. */
export interface FleetFinding {
  readonly invariant: FleetInvariant;
  readonly what: string;
  readonly detail: string;
}

/** An API server that answers nothing, or refuses, for so long may be done without where a drain has begun; before it, sooner. */
const PATIENCE_MS = 120_000;
const FIRST_PATIENCE_MS = 14_000;
/** The copies of a program are younger than this. */
const COPY_MS = 5_000;
/** After so long a machine that lost its power is known to be away. */
const AWAY_MS = 60_000;
/** A pod that its budget keeps is asked for at least so often. */
const KEPT_MS = 20 * 60_000;
/** A runtime that was away for so long, or lately, explains a pod that nobody could end. */
const RUNTIME_MS = 180_000;
/**
 * How long waits last whose end is in the configuration, by its defaults: who acts may get no further for progressWaitSec, and for
 * twelve times as long where the machine waits for its turn.
 */
const LONGEST_MS = { apiWaitSec: 15_000, progressWaitSec: 12 * 300_000, maxVolumeWaitSec: DEFAULT_VOLUME_WAIT_MS };
/** Machines and clocks take so long to act on the end of a wait. */
const LATE_MS = 60_000;

function isOfController({ labels }: Container): boolean {
  return labels['app'] === 'nodemaint-controller';
}

/** Whether a machine waits for a pod: for replicas of the product's own controller none does, and static pods are judged elsewhere. */
function isWaitedFor(container: Container): boolean {
  return container.source === 'api' && !isOfController(container);
}

function begunElsewhere({ status }: NodeMaintenance, name: string): boolean {
  return nodeStatusesOf(status).some(({ nodeRef, drainStartTime }) => {
    return nodeRef.name !== name && drainStartTime !== undefined;
  });
}

/** Judges one fleet. */
export class Judge {
  readonly found: FleetFinding[] = [];
  readonly #fleet: Fleet;
  /** When the API server has taken a maintenance, by its name, and when a budget has last kept a pod, by its UID. */
  readonly #takenAt = new Map<string, number>();
  /** When the API server was told the first targets of a maintenance, by its name: also of one that waits for another one. */
  readonly #begunAt = new Map<string, number>();
  /** The maintenances that a person has completed, by name: the drain ends with them, and the machine goes down soon. */
  readonly #completed = new Set<string>();
  /** Since when machines name waits that have an end. */
  readonly #waits = new Map<string, number>();
  /** When the drain of static pods has begun, by the name of the maintenance. */
  readonly #staticAt = new Map<string, number>();
  readonly #keptAt = new Map<string, number>();
  /** Boots in which an agent rightly began alone: without a controller nobody guards the quorum, and a drain is not stopped. */
  readonly #alone = new Set<string>();
  /** The machines that began alone and whose etcd has not served since, as with `onBoot: wait`. */
  readonly #wentAlone = new Set<string>();

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
    fleet.watcher = {
      asked: (program, request) => this.#asked(program, request),
      stopping: (machine, container) => this.#stopping(machine, container),
      looked: () => this.#checkWaits(),
      goesDown: (machine) => this.#goesDown(machine),
      goesOnAlone: (machine) => {
        if (this.#mayGoAlone(machine)) this.#beganAlone(machine);
      },
      ended: (machine, { name }) => {
        // One that lost its power is not asked for anything.
        if (name.startsWith('etcd-') && machine.isUp()) this.#checkQuorum(machine);
      },
    };
    fleet.server.objects.onChange((change) => {
      if (change.kind === 'Node') this.#nodeChanged(change);
      if (change.kind === 'NodeMaintenance') this.#maintenanceChanged(change);
    });
  }

  #add(invariant: FleetInvariant, what: string, detail: string): void {
    this.#fleet.note(`VIOLATION ${invariant}: ${what}: ${detail}`);
    this.found.push({ invariant, what, detail });
  }

  #beganAlone({ name, bootId }: FleetMachine): void {
    this.#alone.add(bootId);
    this.#wentAlone.add(name);
  }

  /** Whether a machine stays, beside another one: a reboot comes back. */
  #isOtherLeft(machine: FleetMachine): boolean {
    return this.#fleet.machines.some((other) => {
      // One that is back, or stays after all, counts again when its maintenance is over.
      const isToldToGo = this.#fleet.maintenances().some((each) => nodeGoneForGood(each) === other.name);
      const goesForGood = other.prepared?.kind === 'poweroff' || isToldToGo;
      const isReady = other.isKubeletUp() && this.#fleet.isReached(other);
      return other !== machine && other.power === 'up' && isReady && !goesForGood;
    });
  }

  /** Whether the API server has been away, or refusing, for so long that the agent of a machine may do without it. */
  #mayGoAlone(machine: FleetMachine): boolean {
    if (this.#isCompleted(machine)) return true;
    const name = this.#ownMaintenance(machine)?.metadata.name ?? '';
    const troubledMs = this.#fleet.access.troubledMs(machine);
    // An answer that the agent has not heard tells it nothing.
    const isHeard = (this.#takenAt.get(name) ?? Infinity) + COPY_MS < this.#fleet.now() - troubledMs;
    return troubledMs >= (isHeard ? PATIENCE_MS : FIRST_PATIENCE_MS);
  }

  /** The budget that refuses the eviction of a pod now, also of one that does not run; undefined where none does. */
  #refusedBy(pod: Pod): string | undefined {
    if (isTerminal(pod) || pod.metadata.deletionTimestamp !== undefined) return undefined;
    const budgets = budgetsOf(this.#fleet.server.objects, pod);
    return budgets.find(({ status }) => (status?.disruptionsAllowed ?? 0) <= 0)?.metadata.name;
  }

  /** The budget that forbids the end of a pod now; undefined where none does. */
  #closedBudget(pod: Pod): string | undefined {
    // One that was told to end has ended for its budget; a kubelet may start it again.
    const machine = this.#fleet.machines.find(({ name }) => name === pod.spec.nodeName);
    const running = machine?.containers.running() ?? [];
    const runs = running.some(({ uid, toldAt }) => uid === pod.metadata.uid && toldAt === undefined);
    return runs && isReady(pod) ? this.#refusedBy(pod) : undefined;
  }

  /** A pod that a program evicts, which its budget may refuse, or deletes without the Eviction API. */
  #asked(program: string, { method, path }: KubeRequest): void {
    const place = placeOf(path.split('?')[0] ?? '');
    if (place?.subresource === 'eviction') {
      const pod = this.#fleet.server.objects.get('Pod', `${place.namespace}/${place.name}`)?.object as Pod | undefined;
      if (pod !== undefined && this.#refusedBy(pod) !== undefined) {
        this.#keptAt.set(pod.metadata.uid ?? '', this.#fleet.now());
      }
    }
    if (method !== 'DELETE' || place?.kind !== 'Pod' || place.name === undefined) return;
    if (place.subresource !== undefined) return;
    const stored = this.#fleet.server.objects.get('Pod', `${place.namespace}/${place.name}`);
    const pod = stored?.object as Pod | undefined;
    const machine = this.#fleet.machines.find(({ name }) => name === pod?.spec.nodeName);
    if (pod === undefined || machine === undefined || !this.#isOtherLeft(machine)) return;
    const budget = this.#closedBudget(pod);
    if (budget === undefined || this.#mayGoAlone(machine)) return;
    this.#add('budgets', 'a pod is deleted in spite of its budget while another node stays', `${path} by ${program}`);
  }

  /** A pod that an agent ends over the container runtime. */
  #stopping(machine: FleetMachine, container: Container): void {
    if (this.#mayGoAlone(machine)) this.#beganAlone(machine);
    const pod = this.#fleet.pods().find(({ metadata }) => metadata.uid === container.uid);
    if (pod === undefined || !this.#isOtherLeft(machine)) return;
    const budget = this.#closedBudget(pod);
    if (budget === undefined || this.#mayGoAlone(machine)) return;
    this.#add(
      'budgets',
      'an agent ends a pod alone in spite of its budget while another node stays',
      `${machine.name} ${container.name}, the API server away for ${this.#fleet.access.troubledMs(machine)} ms`,
    );
  }

  /** Whether a person has completed the maintenance of the shutdown of a machine. */
  #isCompleted(machine: FleetMachine): boolean {
    const phase = machine.phase();
    return phase.kind !== 'watching' && this.#completed.has(phase.maintenance);
  }

  /** The NodeMaintenance of the shutdown of a machine, where the API server has it. */
  #ownMaintenance(machine: FleetMachine): NodeMaintenance | undefined {
    const phase = machine.phase();
    if (phase.kind === 'watching') return undefined;
    return this.#fleet.maintenances().find(({ metadata }) => metadata.name === phase.maintenance);
  }

  #goesDown(machine: FleetMachine): void {
    const phase = machine.phase();
    const running = machine.containers.running();
    const isDone = ({ toldAt, graceSec }: Container): boolean =>
      toldAt !== undefined && this.#fleet.now() - toldAt >= graceSec * 1_000;
    const forced = phase.kind === 'released' ? phase.forced : undefined;
    const mode = phase.kind === 'watching' ? 'unasked' : phase.mode;
    const early = running.filter((container) => isWaitedFor(container) && !isDone(container));
    const [first] = early;
    if (first !== undefined && !this.#isExcused(machine) && !this.#isCompleted(machine)) {
      const how = first.toldAt === undefined ? 'was not told to end' : 'had not its grace period';
      this.#add(
        'told',
        `a machine goes down (${mode}) with a pod that ${how}`,
        `${machine.name}: ${first.name}; ${forced}`,
      );
    }
    const unnamed = early.find(({ name }) => forced?.includes(name) !== true);
    if (unnamed !== undefined && forced !== undefined && !this.#isExcused(machine)) {
      this.#add(
        'told',
        `a machine goes down (${mode}) with a pod that is not named as left`,
        `${unnamed.name}: ${forced}`,
      );
    }
    if (phase.kind === 'released' && forced === undefined && first !== undefined) {
      this.#add(
        'complete',
        `a machine is recorded as drained (${mode}) while pods run`,
        `${machine.name}: ${first.name}`,
      );
    }
    if (running.some(({ name }) => name.startsWith('etcd-'))) this.#checkQuorum(machine);
  }

  /** Whether somebody chose that pods are left, or nobody could end them. */
  #isExcused(machine: FleetMachine): boolean {
    const isRuntimeAway = this.#fleet.now() - machine.containers.awayAt < RUNTIME_MS;
    // An API server that was back for a moment has not taken the drain over.
    const isAlone = this.#alone.has(machine.bootId) && !this.#fleet.isReached(machine);
    return isRuntimeAway || (this.#fleet.settings.isOneUnit && (isAlone || this.#mayGoAlone(machine)));
  }

  /** When the static pods of the machine were first asked to leave by a drain that goes on. */
  #staticBegan({ name }: FleetMachine): number {
    const all = this.#fleet.server.objects.list('NodeMaintenance') as readonly NodeMaintenance[];
    const own = all.filter(({ status }) => nodeStatusesOf(status).some(({ nodeRef }) => nodeRef.name === name));
    return Math.min(...own.map(({ metadata }) => this.#staticAt.get(metadata.name) ?? Infinity));
  }

  #checkQuorum(machine: FleetMachine): void {
    const { members } = this.#fleet.settings;
    if (members < 3 || !this.#fleet.isMember(machine) || machine.prepared?.kind === 'poweroff') return;
    // Whoever is away because it began alone, in this boot or before it, took the quorum from those that had begun.
    const serving = this.#fleet.serving('etcd');
    const away = this.#fleet.machines.filter((other) => other === machine || !serving.includes(other));
    for (const other of serving) this.#wentAlone.delete(other.name);
    const isAlone = ({ name, bootId }: FleetMachine): boolean => this.#alone.has(bootId) || this.#wentAlone.has(name);
    if (away.some(isAlone) || this.#mayGoAlone(machine)) return;
    // Static pods that leave already go on doing so when another one loses its power, which is not known at once.
    const { powerCutAt } = this.#fleet;
    if (Math.min(this.#fleet.now(), this.#staticBegan(machine)) <= powerCutAt + AWAY_MS) return;
    // Who goes for good takes the quorum by a person's will, also from one that had begun before; of one that is cut off nobody knows.
    const goesForGood = (other: FleetMachine): boolean =>
      other.prepared?.kind === 'poweroff' && this.#ownMaintenance(other) !== undefined;
    if (this.#fleet.machines.some((other) => goesForGood(other) && other.askedAt > machine.askedAt)) return;
    const others = serving.filter((other) => other !== machine && other.power === 'up' && !goesForGood(other));
    const needed = Math.floor(members / 2) + 1;
    if (others.length >= needed) return;
    // It took the majority only where there was one with it.
    if (others.length + 1 < needed) return;
    const names = others.map(({ name }) => name).join(', ');
    this.#add('quorum', 'a member goes although that takes the quorum', `${machine.name}, and only ${names} stay`);
  }

  /** Whether the shutdown of a maintenance is over: it was called off, or the machine was booted since and waits for nobody. */
  #isShutdownOver({ metadata }: NodeMaintenance): boolean {
    const machine = this.#fleet.machines.find(({ name }) => metadata.name.startsWith(`shutdown-${name}-`));
    if (machine === undefined) return false;
    const isBooted = machine.bootedAt > Date.parse(metadata.creationTimestamp ?? '');
    if (isBooted) return this.#fleet.settings.onBoot === 'complete';
    return machine.prepared === undefined && machine.power === 'up';
  }

  /** The drains that have targets for a node and are under way, as far as a program must have heard of it. */
  #drainsOf(node: Node): readonly string[] {
    const selecting = this.#fleet
      .maintenances()
      .filter((each) => selectsNode(each, node) && each.metadata.deletionTimestamp === undefined)
      .filter((each) => !this.#isShutdownOver(each))
      .filter(({ metadata }) => this.#fleet.now() - (this.#begunAt.get(metadata.name) ?? 0) >= COPY_MS);
    return drainsOfNode(selecting, node.metadata.name)
      .filter(({ drainTargets }) => drainTargets.length > 0)
      .map(({ maintenance }) => maintenance);
  }

  #nodeChanged({ before, object }: ModelChange): void {
    const { writer } = this.#fleet;
    if (before === undefined || writer === 'outside') return;
    const [old, fresh] = [before as Node, object as Node];
    if (old.spec?.unschedulable !== true || fresh.spec?.unschedulable === true) return;
    const [drain] = this.#drainsOf(fresh);
    if (drain === undefined) return;
    this.#add(
      'kept',
      'a node is made schedulable whose drain has begun',
      `${fresh.metadata.name} of ${drain} by ${writer}`,
    );
  }

  #maintenanceChanged({ before, object, deleted }: ModelChange): void {
    if (before === undefined) this.#takenAt.set(object.metadata.name, this.#fleet.now());
    if (deleted || before === undefined) return;
    const [old, fresh] = [before as NodeMaintenance, object as NodeMaintenance];
    if (stageOf(fresh) === 'Complete' && this.#fleet.writer === 'outside') this.#completed.add(fresh.metadata.name);
    if (stageOf(old) !== 'Drain' || stageOf(fresh) !== 'Drain') return;
    const targetsOf = ({ status }: NodeMaintenance): number =>
      nodeStatusesOf(status).reduce((sum, { drainTargets = [] }) => sum + drainTargets.length, 0);
    const self = this.#fleet.machines.find(({ user }) => user === this.#fleet.writer);
    // One that the controller has begun is not stopped either when that is gone.
    const isAlone = !this.#fleet.machines.some(({ containers }) => containers.running().some(isOfController));
    if (self !== undefined && (isAlone || targetsOf(fresh) > targetsOf(old))) this.#beganAlone(self);
    const takesStatic = nodeStatusesOf(fresh.status).some(({ drainTargets = [] }) => {
      return drainTargets.some(({ podType }) => podType === 'Static');
    });
    if (takesStatic && !this.#staticAt.has(fresh.metadata.name))
      this.#staticAt.set(fresh.metadata.name, this.#fleet.now());
    if (targetsOf(fresh) > 0 && targetsOf(old) === 0) this.#begunAt.set(fresh.metadata.name, this.#fleet.now());
    for (const { nodeRef, drainTargets = [] } of nodeStatusesOf(old.status)) {
      const now = nodeStatusesOf(fresh.status).find((each) => each.nodeRef.name === nodeRef.name);
      if (now !== undefined && (now.drainTargets ?? []).length < drainTargets.length) {
        this.#add('kept', 'the targets of a node become fewer', `${nodeRef.name} of ${fresh.metadata.name}`);
      }
    }
    if (!isDrained(old) && isDrained(fresh)) this.#checkDrained(fresh);
  }

  #checkDrained(maintenance: NodeMaintenance): void {
    const nodes = this.#fleet.nodes().filter((node) => selectsNode(maintenance, node));
    const said = maintenance.status?.conditions?.find(({ type }) => type === DRAINED)?.message ?? '';
    for (const { metadata } of nodes) {
      const machine = this.#fleet.machines.find(({ name }) => name === metadata.name);
      const left = machine?.containers
        .running()
        .filter(({ name }) => !said.includes(name))
        .find((each) => isWaitedFor(each) && this.#fleet.now() - each.createdAt > COPY_MS);
      if (left === undefined || (machine !== undefined && this.#isExcused(machine))) continue;
      const detail = `${maintenance.metadata.name}: ${left.name}`;
      this.#add('complete', 'a maintenance is Drained while pods of it run', detail);
    }
  }

  /** A program of the product ended by itself. */
  failed(error: unknown): void {
    this.#add('runs', 'a program ends by itself', String(error));
  }

  /** Judges machines that are still held when nothing has happened for long: somebody has to own that. */
  judgeHeld(): void {
    for (const machine of this.#fleet.machines.filter((each) => each.isHeld())) {
      const owner = this.ownerOf(machine);
      const status = machine.status();
      const waiting = status?.waitingFor.map(({ what, on, message }) => `${what} on ${on}: ${message}`) ?? [];
      const detail = `${machine.name} ${status?.summary}; ${waiting.join('; ').slice(0, 600)}`;
      const away = this.#whyHeld(machine);
      if (owner === undefined) this.#add('owned', `a machine is held and nobody owns that${away}`, detail);
      else if (waiting.length === 0) {
        this.#add('owned', 'a machine is held and its status names nothing', `${detail} (owner: ${owner})`);
      }
    }
  }

  /** What machines that are up and may reach the API server lack of what a drain takes away. */
  lacking(): readonly string[] {
    const { machines, settings, access } = this.#fleet;
    const members = machines.filter((each) => this.#fleet.isMember(each) && each.power === 'up');
    if (settings.members > 0 && members.length <= settings.members / 2) return [];
    // Where no API server serves, a person gives back on the machine what a person's drain has taken, or waits after a boot.
    const isOver = (maintenance: string): boolean =>
      access.isUp() || settings.hasOwnWay || (settings.onBoot === 'complete' && !maintenance.startsWith('person-'));
    const free = machines.filter((each) => each.power === 'up' && !each.isHeld() && !access.isCutOff(each));
    return free.flatMap(({ name, manifests, isKubeletStopped }) => [
      ...[...manifests.parked].flatMap(([file, { step }]) => (isOver(step.maintenance) ? [`${file} of ${name}`] : [])),
      ...(isKubeletStopped() ? [`the kubelet of ${name}`] : []),
    ]);
  }

  /** Judges what is lacking some time after the last maintenance was completed. */
  judgeReturned(): void {
    for (const each of this.lacking()) this.#add('returned', 'what a drain took away does not come back', each);
  }

  /** A wait that has an end of its own is named no longer than that. */
  #checkWaits(): void {
    const now = this.#fleet.now();
    const before = new Map(this.#waits);
    this.#waits.clear();
    for (const machine of this.#fleet.machines) {
      const waits = machine.status()?.waitingFor ?? [];
      // A machine that waits for its turn has begun nothing: what else it names is the drain of somebody else.
      if (waits.some(({ wait }) => wait === 'reboot-limit' || wait === 'quorum')) continue;
      for (const { wait, what, message } of waits) {
        const bound = WAITS[wait];
        if (!('end' in bound) || bound.next === 'again') continue;
        const key = `${machine.bootId} ${wait} ${what}`;
        const since = before.get(key) ?? now;
        this.#waits.set(key, since);
        const endMs = typeof bound.end === 'number' ? bound.end : LONGEST_MS[bound.end];
        if (now - since <= endMs + LATE_MS) continue;
        this.#waits.set(key, Infinity);
        this.#add('owned', `the end of a wait is over: ${wait}`, `${machine.name}: ${what} ${message}`);
      }
    }
  }

  /** What is away of a machine that nobody owns that is held, for the words of the finding. */
  #whyHeld(machine: FleetMachine): string {
    if (!machine.containers.isUp()) return ', its runtime is away';
    if (!machine.isKubeletUp()) return ', its kubelet is away';
    const { guarded } = this.#fleet.settings;
    const isRefused = guarded === 'evictions' && this.#fleet.access.troubledMs(machine) > 0;
    return isRefused ? ', a webhook refuses evictions' : '';
  }

  /** Who owns that a machine is held; undefined where nobody does. */
  ownerOf(machine: FleetMachine): string | undefined {
    const fleet = this.#fleet;
    const pods = fleet.pods().filter(({ spec }) => spec.nodeName === machine.name);
    const running = machine.containers.running().filter(({ source }) => source === 'api');
    const isTroubled = fleet.access.troubledMs(machine) >= PATIENCE_MS;
    for (const container of running) {
      const { toldAt, graceSec, name } = container;
      if (toldAt !== undefined && fleet.now() - toldAt < graceSec * 1_000) return `the grace period of ${name}`;
    }
    for (const pod of pods) {
      const isKept = fleet.now() - (this.#keptAt.get(pod.metadata.uid ?? '') ?? -Infinity) < KEPT_MS;
      if (isKept && this.#isOtherLeft(machine) && this.#refusedBy(pod) !== undefined)
        return `the budget of ${pod.metadata.name}`;
    }
    // A kubelet that was away may not have started the pod.
    const isAsked = (pod: Pod): boolean =>
      fleet.workloadOf(pod)?.hasInterceptor === true &&
      fleet.requests().some(({ metadata }) => metadata.name === pod.metadata.uid);
    if (fleet.settings.interceptor === 'beats' && pods.some(isAsked)) return 'an interceptor';
    if (this.#wouldTakeQuorum(machine) || machine.isGuarded()) return 'the control plane';
    const before = isTroubled ? undefined : this.#whoGoesBefore(machine);
    return before ?? this.#whoIsDrained(machine, isTroubled);
  }

  /** For what a machine waits that has begun nothing yet. */
  #whoGoesBefore(machine: FleetMachine): string | undefined {
    if (machine.prepared?.kind === 'poweroff' || hasBegun(this.#ownMaintenance(machine)?.status)) return undefined;
    const { machines } = this.#fleet;
    const others = machines.filter((other) => other !== machine && other.isHeld());
    const isAfter = others.some(
      (other) => other.askedAt <= machine.askedAt || hasBegun(this.#ownMaintenance(other)?.status),
    );
    return isAfter ? 'the limit of parallel reboots' : undefined;
  }

  /**
   * The maintenance of another node for which a member waits that is alone, or whose controller gets no further: it cannot see
   * which nodes are members too, and a person decides.
   */
  #whoIsDrained(machine: FleetMachine, isTroubled: boolean): string | undefined {
    if (machine.prepared?.kind === 'poweroff' || hasBegun(this.#ownMaintenance(machine)?.status)) return undefined;
    const { machines, settings } = this.#fleet;
    const isAlone = isTroubled || machines.every(({ containers }) => !containers.running().some(isOfController));
    if (!isAlone || !this.#fleet.isMember(machine) || settings.members === 0) return undefined;
    const elsewhere = this.#fleet.maintenances().find((each) => {
      return stageOf(each) === 'Drain' && begunElsewhere(each, machine.name);
    });
    return elsewhere?.metadata.name;
  }

  #wouldTakeQuorum(machine: FleetMachine): boolean {
    const { members } = this.#fleet.settings;
    if (members < 3 || !this.#fleet.isMember(machine) || machine.prepared?.kind === 'poweroff') return false;
    // A member that is cut off counts for nothing in the cluster, and one that goes for good not for long.
    const others = this.#fleet
      .serving('etcd')
      .filter((other) => other !== machine && other.prepared?.kind !== 'poweroff' && this.#fleet.isReached(other));
    return others.length < Math.floor(members / 2) + 1;
  }
}
