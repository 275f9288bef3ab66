/**
 * The drain of this node by its agent while no controller is alive: by the controller's rules, with the node's identity,
 * over what that identity may do. It begins when the controller's Lease has not changed for its duration, reads it before
 * each step that takes a pod away, and stops as soon as a controller is alive again. A controller that is alive and does
 * nothing for the shutdown of this node counts as none until the shutdown is over.
 */
import type { ClusterDependencies } from '../../cluster/dependencies.ts';
import type { NodeMaintenances } from '../../cluster/maintenance-watch.ts';
import { followed, type NodeEvictionRequests, type NodePods } from '../../cluster/on-demand-watch.ts';
import type { OwnNode } from '../../cluster/own-node.ts';
import { drainedFor, type Drainer, type DrainerFacts, type DrainPass, manifestsOf } from '../drainer.ts';
import type { ProgressObserver } from '../take-over.ts';
import { InterceptorSilence } from './interceptor-silence.ts';
import { OtherNodes } from './other-nodes.ts';
import { PodSteps } from './pod-steps.ts';
import { SelfStatus } from './maintenance-status.ts';
import type { GiveBack } from '../uncordon.ts';
import { drainPodsOf, leaveByTargets, type StaticPodView, withMirrorPriorities } from '../../static-pods/view.ts';
import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Pod } from '../../../api/pod.ts';
import { type SelfDrain, whyWaitsAlone } from '../../../decide/drain/self-drain.ts';
import { isControlPlane } from '../../../decide/maintenance/control-plane-members.ts';
import { drainsOfNode, soleNodeOf } from '../../../decide/maintenance/maintenance.ts';
import { decideNode, type NodePlan } from '../../../decide/node/plan.ts';
import { API_SERVER, type Waiting } from '../../../decide/node/waits.ts';
import { CARRIES_WAY, isTerminal, podTypeOf } from '../../../decide/pod.ts';
import { isBeforeItsTurn } from '../../../decide/reboot/turn.ts';
import { type Leave, podKey } from '../../../decide/static-pod/moves.ts';
import { drainEnd, leftOf } from '../../../decide/staying-pod/left-pods.ts';
import { type Left, leftPod } from '../../../decide/staying-pod/staying-pods.ts';
import { comesBeforeVolumes, describeVolumes, volumesOn, waitsForVolumes } from '../../../decide/volume/wait.ts';
import { describeError } from '../../../errors.ts';
import { syncCordon } from '../../../kube/maintenance/cordon.ts';
import { keyOf } from '../../../kube/resource.ts';

interface SelfDrainParts {
  readonly requests: Pick<NodeEvictionRequests, 'list' | 'synced' | 'watch'>;
  readonly controller: Pick<ProgressObserver, 'isAway' | 'whyAway' | 'isBesideController' | 'settings'>;
  readonly giveBack: Pick<GiveBack, 'pass'>;
  /** All maintenances of the cluster. */
  readonly maintenances: Pick<NodeMaintenances, 'list'>;
  readonly ownNode: OwnNode;
  /** Whoever watches more than this drainer ends the watch. */
  readonly pods: NodePods;
  /** What the agent does in every drain of the cluster, whoever drives it. */
  readonly byController: Drainer;
  /** For how long volumes are waited for, in milliseconds; 0 for not at all. */
  readonly maxVolumeWaitMs: number;
}

const UNTOLD = 'the API server does not tell of';
/** What keeps a drain where the API server answers to a write with a conflict, or a controller is back. */
const NOT_WRITTEN = 'what the drain comes to cannot be written yet';
/** A pass that takes longer ends; the loop, and with it the watchdog, must not wait for it. */
const PASS_MS = 10_000;

/** The labels of a node hardly ever change; its cordon may be taken away; the kubelet reports its volumes every ten seconds. */
const AGE_MS = { labels: 60_000, cordon: 15_000, volumes: 5_000 };

/** The pass that did not get on with the API server, and why. */
function stalled(base: DrainPass, reason: string): DrainPass {
  const waiting = { wait: 'api-server', what: 'the drain of this node', on: API_SERVER, message: reason } as const;
  return { ...base, stalled: reason, waiting: [...base.waiting, waiting] };
}

/** What is left of the drain: its pods, the volumes that it waits for, and static pods without a manifest here. */
function leftOfDrain({ resolution }: SelfDrain, pods: readonly Pod[], view: StaticPodView): readonly Left[] {
  const manifests = manifestsOf(view);
  const others = pods.filter((pod) => podTypeOf(pod) === 'Static' && !manifests.ends.has(keyOf(pod)));
  const own = resolution.nodes.flatMap(({ evicting, pending, volumes }): readonly Left[] => {
    const waits = waitsForVolumes(volumes) ? volumes.names : [];
    return [...[...evicting, ...pending].map(leftPod), ...waits.map((name) => ({ what: `volume ${name}` }))];
  });
  // What stays of the others is judged where the end of the drain is.
  return [...own, ...leftOf(others, manifests, { since: undefined, now: 0 })];
}

/** The priorities of the mirror pods, by pod key. */
function mirrorPriorities(pods: readonly Pod[]): ReadonlyMap<string, number> {
  const mirrors = pods.filter((pod) => podTypeOf(pod) === 'Static');
  return new Map(mirrors.flatMap((pod) => (pod.spec.priority === undefined ? [] : [[keyOf(pod), pod.spec.priority]])));
}

/** What was seen and done in one pass. */
interface Done {
  /** The static pods, with the priorities of their mirror pods. */
  readonly view: StaticPodView;
  readonly pods: readonly Pod[];
  /** The name of the maintenance of this node's shutdown; undefined where it has none. */
  readonly shutdown: string | undefined;
  /** What is waited for after the steps. */
  readonly ended: readonly Waiting[];
}

/** Adds what the drains of this agent came to: the static pods that their targets select, unless these wait for interceptors. */
function withPlan(base: DrainPass, { drains, awaiting }: NodePlan, { view, pods, shutdown, ended }: Done): DrainPass {
  const leave = new Map<string, Leave>(base.leave);
  const targeted = new Set(base.targeted);
  const isOfShutdown = ({ maintenance }: SelfDrain): boolean => maintenance.metadata.name === shutdown;
  // What leaves for several drains is parked for another one than the shutdown's, which may outlive it.
  const others = drains.filter((drain) => !isOfShutdown(drain));
  for (const { maintenance, resolution } of [...others, ...drains.filter(isOfShutdown)]) {
    const why = { maintenance: maintenance.metadata.name, reason: maintenance.spec.reason ?? '' };
    for (const [key] of leaveByTargets(view, resolution.nodes[0]?.drainTargets ?? [], why)) {
      targeted.add(key);
      if (!awaiting.has(key) && !leave.has(key)) leave.set(key, why);
    }
  }
  const own = drains.find(isOfShutdown);
  const end = base.drained ? base : drainEnd(own && leftOfDrain(own, pods, view));
  const waiting = [...ended];
  const [volumes] = drains.map(({ resolution }) => resolution.nodes[0]?.volumes).filter(waitsForVolumes);
  if (volumes !== undefined) {
    const message = `waits for ${describeVolumes([volumes])}`;
    waiting.push({ wait: 'volumes', what: 'this node', on: 'kubelet', message, since: volumes.since });
  }
  const unended = waiting.filter(({ wait }) => wait !== 'grace-period' && wait !== 'overdue');
  const [first] = unended;
  // What waits for anything else has an owner, or an end of its own.
  const failed = first !== undefined && unended.every(({ on }) => on === API_SERVER) ? { stalled: first.message } : {};
  return { ...base, ...end, ...failed, leave, targeted, waiting };
}

/** The drainer for the time without a controller; its work ends with `lifetime`. */
export class SelfDrainer implements Drainer {
  readonly #parts: SelfDrainParts;
  readonly #dependencies: ClusterDependencies;
  readonly #status;
  readonly #steps;
  readonly #silence;
  readonly #others;
  /** Since when volumes are in use without pods that may use some, in milliseconds since the epoch. */
  #volumesSince: number | undefined;

  constructor(parts: SelfDrainParts, dependencies: ClusterDependencies, lifetime: AbortSignal) {
    this.#parts = parts;
    this.#dependencies = dependencies;
    this.#status = new SelfStatus(dependencies, parts.controller);
    this.#steps = new PodSteps(dependencies, () => parts.controller.settings(), lifetime);
    this.#silence = new InterceptorSilence(dependencies.clock);
    this.#others = new OtherNodes(dependencies);
  }

  /** Forgets everything but the writes of the status; called in each pass in which others drain the node. */
  stop(): void {
    this.#volumesSince = undefined;
    for (const each of [this.#steps, this.#silence, this.#others]) each.forget();
  }

  async pass(facts: DrainerFacts, outer: AbortSignal): Promise<DrainPass> {
    const { byController, controller, giveBack } = this.#parts;
    let base = await byController.pass(facts, outer);
    const signal = AbortSignal.any([outer, AbortSignal.timeout(PASS_MS)]);
    try {
      const maintenances = await this.#inTurn(facts.maintenances, signal);
      // A node that waits is left as it is.
      if (typeof maintenances === 'string') {
        const turn: Waiting = { wait: 'quorum', what: 'its turn to reboot', on: 'other nodes', message: maintenances };
        return { ...base, waiting: [...base.waiting, turn] };
      }
      if (maintenances.length > 0) {
        const shutdown = drainedFor(facts.record.phase);
        base = { ...base, isBegun: maintenances.some(({ metadata }) => metadata.name === shutdown) };
        return await this.#drain(base, { ...facts, maintenances }, signal);
      }
      this.stop();
      await giveBack.pass(() => controller.isAway(signal), signal);
    } catch (error) {
      outer.throwIfAborted();
      const reason = describeError(error);
      this.#dependencies.log.warn({ reason }, 'cannot go on with the drain of own node, trying again');
      return stalled(base, reason);
    }
    return base;
  }

  /** Those of the maintenances that may begin, or why none may. */
  async #inTurn(
    maintenances: readonly NodeMaintenance[],
    signal: AbortSignal,
  ): Promise<readonly NodeMaintenance[] | string> {
    const { clock, nodeName } = this.#dependencies;
    const latest = this.#status.latest(maintenances);
    if (!latest.some((each) => isBeforeItsTurn(each, { name: nodeName }))) return latest;
    const seen = await this.#parts.ownNode.observe(AGE_MS.labels, signal);
    const isMember = seen.kind === 'present' && isControlPlane(seen.node);
    const scope = { node: nodeName, isMember, all: this.#parts.maintenances.list() };
    const whyNot = (each: NodeMaintenance): string | undefined => whyWaitsAlone(each, scope, clock.now());
    const free = latest.filter((each) => whyNot(each) === undefined);
    return free.length > 0 ? free : latest.map(whyNot).join('; ');
  }

  /** Drains the node, or says what keeps the agent from it. */
  async #drain(base: DrainPass, { maintenances, ...facts }: DrainerFacts, signal: AbortSignal): Promise<DrainPass> {
    const { controller, pods, requests, maintenances: known, ownNode, maxVolumeWaitMs } = this.#parts;
    const { client, clock, log, nodeName } = this.#dependencies;
    const mayAct = (): Promise<boolean> => controller.isAway(signal);
    const copy = followed(pods);
    requests.watch(true);
    if (copy === undefined) return stalled(base, `${UNTOLD} the pods of this node`);
    if (!requests.synced()) return stalled(base, `${UNTOLD} the EvictionRequests of this node`);
    const carriers = facts.carriers ?? [];
    const isCarrier = (pod: Pod): boolean => carriers.some((each) => podKey(each) === keyOf(pod));
    const all = copy.list().filter((pod) => !isTerminal(pod) && !(podTypeOf(pod) === 'Static' && isCarrier(pod)));
    const inPlace = carriers.filter((pod) => !facts.view.parked.some(({ file }) => file === pod.file));
    const staying = drainPodsOf({ ...facts.view, inPlace, parked: [] }).map((pod) => ({ ...pod, stays: CARRIES_WAY }));
    const view = withMirrorPriorities(facts.view, mirrorPriorities(all));
    const mayUseVolumes = all.some(comesBeforeVolumes);
    const node = await ownNode.read(mayUseVolumes ? AGE_MS.cordon : AGE_MS.volumes, signal);
    const wantedBy = maintenances.map(({ metadata }) => metadata.name);
    // A node that cannot be cordoned keeps its pods: that throws.
    const cordon = node && (await syncCordon(client, { node, wantedBy, mayWrite: mayAct }, signal));
    if (cordon !== undefined && cordon !== 'unchanged') ownNode.forget();
    if (cordon === 'changed') log.info({ maintenances: wantedBy }, 'cordoned own node');
    if (cordon === 'not-allowed' || cordon === 'conflict') return stalled(base, NOT_WRITTEN);
    const names = mayUseVolumes ? [] : volumesOn(node);
    this.#volumesSince = names.length === 0 ? undefined : (this.#volumesSince ?? clock.now());
    const plan = decideNode({
      nodeName,
      node,
      pods: all,
      staticPods: [...drainPodsOf(view), ...staying],
      maintenances: this.#status.latest(maintenances),
      requests: requests.list(),
      attempts: this.#steps.attempts(all),
      volumes: { names, since: this.#volumesSince, maxWaitMs: maxVolumeWaitMs },
      silentUntil: (pod, request) => this.#silence.until(pod, request),
      why: controller.whyAway(),
      now: clock.now(),
    });
    const sole = plan.drains.filter(({ maintenance }) => soleNodeOf(maintenance) === nodeName);
    // The targets are written before pods leave by them: the gate of DaemonSets goes by the status.
    const observed = { list: all, blocking: plan.blocking, requests: requests.list() };
    if (!(await this.#status.write(sole, observed, mayAct, signal))) return stalled(base, NOT_WRITTEN);
    const recorded = drainsOfNode(this.#status.latest(maintenances), nodeName);
    const whyNotAsked = await this.#others.whyNotAsked(known.list(), signal);
    const ended = await this.#steps.take(plan.steps, { recorded, mayAct, whyNotAsked }, signal);
    return withPlan(base, plan, { view, pods: all, shutdown: drainedFor(facts.record.phase), ended });
  }
}
