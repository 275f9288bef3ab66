/**
 * The drain of this node by its own agent while no controller lives: the controller's rules with the node's identity. It
 * looks at the controller's Lease before each step that takes a pod away, and stops the moment a controller lives again.
 */
import type { EvictionRequest } from '../../../api/eviction-request.ts';
import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Node, Pod } from '../../../api/pod.ts';
import { dueTiersOf, endOptionsOf, interceptorsUntil } from '../../../decide/deadline/maintenance.ts';
import { decideCordon, drainsOfNode, type NodeDrain, soleNodeOf } from '../../../decide/maintenance/maintenance.ts';
import {
  blockedByInterceptors,
  drainPodsOfNode,
  evictingUids,
  awaitingPodOf,
  maintenancesOfNode,
  type SelfDrain,
  resolveSelfDrains,
} from '../../../decide/drain/self-drain.ts';
import { type DrainPod, endOf, isTerminal, podTypeOf } from '../../../decide/pod.ts';
import { describeError } from '../../../errors.ts';
import { type EndOptions, shortenEnd } from '../../../kube/eviction/evictor.ts';
import { keyOf, NODES, objectPath, sendForObject } from '../../../kube/resource.ts';
import type { Cluster, ClusterDependencies } from '../../cluster/cluster.ts';
import { type ControllerState, createControllerLiveness } from './controller-liveness.ts';
import { createNodePods } from '../../cluster/node-pods.ts';
import { createSelfEvictions } from './evictions.ts';
import { createSelfGates } from './gates.ts';
import { createSelfRemovals } from './daemon-sets.ts';
import { createSelfStatus } from './status.ts';
import type { Waiting } from '../../waiting.ts';

/** What a pass came to; the drains have the targets that this agent goes by. */
export interface SelfDrainPass {
  readonly drains: readonly NodeDrain[];
  /** Static pods, NAMESPACE/NAME, that wait for interceptors. */
  readonly heldStaticPods: ReadonlySet<string>;
  /** Maintenances that have drained the node. */
  readonly drained: ReadonlySet<string>;
  readonly waiting: readonly Waiting[];
}

/** The agent in the place of the controller, for its own node. */
export interface SelfDrainer {
  /** One pass over the maintenances that count; undefined where this agent has nothing to do, or must not. */
  pass(
    counts: (maintenance: string) => boolean,
    staticPods: readonly DrainPod[],
    signal: AbortSignal,
  ): Promise<SelfDrainPass | undefined>;
  /** Lets go of everything: the API server is given up for now. */
  stop(): void;
  /** For how long the API server has not answered, in milliseconds; 0 where it has, or was not asked. */
  apiSilentMs(): number;
  /** Whether it has to look again soon. */
  isBusy(): boolean;
  /** What is known of the controller; undefined while nobody wants to know. */
  controller(): ControllerState | undefined;
}

const LOOK_EVERY_MS = 2_000;
const CORDON_EVERY_MS = 15_000;
/** No call of a pass may keep the loop, and with it the lock's sign of life, for longer. */
const CALL_MS = 10_000;

/** Makes the drainer, whose watch ends with `lifetime`; nothing is asked of the API server before a maintenance of the node is in progress. */
export function createSelfDrainer(
  cluster: Cluster,
  dependencies: ClusterDependencies,
  lifetime: AbortSignal,
): SelfDrainer {
  const { client, clock, log, nodeName } = dependencies;
  const sight = createControllerLiveness(client, log);
  const evictions = createSelfEvictions(dependencies);
  const status = createSelfStatus(dependencies);
  const removals = createSelfRemovals(dependencies);
  const gates = createSelfGates(dependencies);
  const pods = createNodePods(dependencies, lifetime);
  let busy = false;
  let cordonedAt = -Infinity;
  /** Whether the node may have a cordon of ours that no controller takes away; undefined until somebody has looked. */
  let cordonLeft: boolean | undefined;

  const rest = (): undefined => {
    pods.rest();
    busy = false;
    evictions.forget();
    return undefined;
  };

  /** Whether still no controller lives, read now: what follows must not be done twice. */
  const isAlone = async (signal: AbortSignal): Promise<boolean> => (await sight.look(0, signal)).kind === 'dead';

  const cordon = async (names: readonly string[], signal: AbortSignal): Promise<void> => {
    const path = objectPath(NODES, { name: nodeName });
    const node = await sendForObject<Node>(client, { method: 'GET', path }, [404], signal);
    const body = node === undefined ? undefined : decideCordon(node, names);
    cordonedAt = clock.monotonic();
    if (body !== undefined && !(await isAlone(signal))) {
      // Who lives takes its cordon away itself; whether anybody does is not known at once.
      cordonLeft = sight.last()?.kind !== 'alive';
      busy = cordonLeft;
      return;
    }
    cordonLeft = names.length > 0;
    if (body === undefined) return;
    await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404], signal);
    log.info({ maintenances: names }, names.length > 0 ? 'cordoned own node' : 'uncordoned own node');
  };

  const releaseHeld = async (signal: AbortSignal): Promise<void> => {
    if (await isAlone(signal)) await gates.release(AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]));
    else if (sight.last()?.kind === 'alive') gates.leaveToController();
    busy ||= gates.isArmed(true);
  };

  const requestOf = (pod: Pod): EvictionRequest | undefined =>
    cluster.requests().find(({ spec }) => spec.target.pod.uid === pod.metadata.uid);

  const trustUntil = (pod: Pod, all: readonly Pod[], own: readonly SelfDrain[]): number | undefined =>
    interceptorsUntil(
      pod,
      all,
      own.map(({ maintenance }) => maintenance),
    );

  const isOutOfTime = (pod: Pod, all: readonly Pod[], own: readonly SelfDrain[]): boolean =>
    clock.now() >= (trustUntil(pod, all, own) ?? Infinity);

  const act = async (
    own: readonly SelfDrain[],
    recorded: readonly NodeDrain[],
    all: readonly Pod[],
    signal: AbortSignal,
  ): Promise<SelfDrainPass> => {
    const evicting = evictingUids(own);
    const maintenances = own.map(({ maintenance }) => maintenance);
    const optionsOf = (pod: Pod): EndOptions => endOptionsOf(pod, all, maintenances, clock.now());
    const waiting: Waiting[] = [];
    const heldStaticPods = new Set<string>();
    for (const pod of all) {
      const podType = podTypeOf(pod);
      const { uid = '', deletionTimestamp } = pod.metadata;
      const request = requestOf(pod);
      const held = awaitingPodOf(pod, request, isOutOfTime(pod, all, own));
      if (podType === 'Static' && held !== undefined) heldStaticPods.add(keyOf(pod));
      if (podType !== 'Static' && !evicting.has(uid)) continue;
      if (deletionTimestamp !== undefined) {
        // An order that a controller which lives again gives too changes nothing.
        if (podType !== 'Static') await shortenEnd(client, pod, optionsOf(pod), clock.now(), signal);
        const expectedAt = endOf(pod)?.endsAt ?? clock.now();
        waiting.push({ what: keyOf(pod), on: 'kubelet', message: 'is terminating', since: 0, expectedAt });
      } else if (held !== undefined) {
        waiting.push({ what: keyOf(pod), on: held.on, message: held.message, since: 0 });
      } else if (podType === 'DaemonSet') {
        waiting.push(await removals.remove(pod, recorded, optionsOf(pod), () => isAlone(signal), signal));
      } else if (podType === 'Default') {
        const end = { options: optionsOf(pod), trustUntil: trustUntil(pod, all, own) };
        waiting.push(await evictions.evict(pod, request, end, () => isAlone(signal), signal));
      }
    }
    return {
      drains: own.map(({ maintenance, resolution }) => ({
        maintenance: maintenance.metadata.name,
        reason: maintenance.spec.reason ?? '',
        drainTargets: resolution.nodes[0]?.drainTargets ?? [],
      })),
      heldStaticPods,
      drained: new Set(
        own.filter(({ resolution }) => resolution.drained).map(({ maintenance }) => maintenance.metadata.name),
      ),
      waiting,
    };
  };

  const pass = async (
    wanted: readonly NodeMaintenance[],
    staticPods: readonly DrainPod[],
    outer: AbortSignal,
  ): Promise<SelfDrainPass | undefined> => {
    const signal = AbortSignal.any([outer, AbortSignal.timeout(CALL_MS)]);
    if ((await sight.look(LOOK_EVERY_MS, signal)).kind !== 'dead') {
      rest();
      // Until it is known, it has to be looked at; a controller that lives changes its Lease all the time.
      busy = sight.last()?.kind === 'unknown';
      return undefined;
    }
    busy = true;
    const cache = pods.watch();
    cluster.watchRequests(true);
    if (!cache.synced() || !cluster.requestsSynced()) return undefined;
    if (clock.monotonic() - cordonedAt >= CORDON_EVERY_MS) {
      await cordon(
        wanted.map(({ metadata }) => metadata.name),
        signal,
      );
    }
    const all = cache.list().filter((pod) => !isTerminal(pod));
    const due = (maintenance: NodeMaintenance): number => dueTiersOf(maintenance, all, clock.now()).position;
    const own = resolveSelfDrains(status.latest(wanted), nodeName, drainPodsOfNode(all, staticPods), due);
    const outOfTime = (pod: Pod): boolean => isOutOfTime(pod, all, own);
    const blocking = [...evictions.blocking(all), ...blockedByInterceptors(own, all, requestOf, outOfTime)];
    const left = { list: all, blocking, requestOf };
    for (const drain of own.filter(({ maintenance }) => soleNodeOf(maintenance) === nodeName)) {
      // The targets are written before anybody acts on them: the gate of DaemonSets goes by the status.
      if (!(await status.write(drain, left, () => isAlone(signal), signal))) return undefined;
    }
    return await act(own, drainsOfNode(status.latest(wanted), nodeName), all, signal);
  };

  return {
    controller: () => sight.last(),
    isBusy: () => busy,
    apiSilentMs: () => sight.apiSilentMs(),
    stop: () => {
      rest();
      sight.forget();
    },
    pass: async (counts, staticPods, signal) => {
      if (!cluster.synced()) return undefined;
      const counting = cluster.maintenances().filter(({ metadata }) => counts(metadata.name));
      const wanted = maintenancesOfNode(counting, nodeName);
      try {
        if (wanted.length > 0) {
          cordonLeft = true;
          gates.arm();
          return await pass(wanted, staticPods, signal);
        }
        rest();
        removals.forget();
        cordonedAt = -Infinity;
        const isAfterShutdown = cluster.own().length > 0;
        if (cordonLeft ?? isAfterShutdown) await cordon([], signal);
        if (gates.isArmed(isAfterShutdown)) await releaseHeld(signal);
        if (!busy) sight.forget();
      } catch (error) {
        signal.throwIfAborted();
        log.warn({ reason: describeError(error) }, 'cannot go on with the drain of own node, trying again');
      }
      return undefined;
    },
  };
}
