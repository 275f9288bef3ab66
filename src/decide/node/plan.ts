/**
 * What a node is to do, decided once and carried out by whoever drains it: its agent alone by `pods/eviction`, and later the
 * controller by EvictionRequests. Nothing but the API's own objects goes in, and what was seen of them over time.
 */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import type { BlockingPod, NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { endOptionsOf, interceptorsUntil } from '../deadline/maintenance.ts';
import { whyLeft } from '../drain/blocking-pods.ts';
import { dueOnNode } from '../drain/observed-drain.ts';
import {
  type AwaitingPod,
  awaitingPodOf,
  drainPodsOfNode,
  evictingUids,
  resolveSelfDrains,
  type SelfDrain,
  stayingForOthers,
} from '../drain/self-drain.ts';
import { isInBackground } from '../eviction/imperative.ts';
import { isSpent } from '../eviction/spent-request.ts';
import { agentNodeOf } from '../maintenance/maintenance.ts';
import { drainBegan, identityOf, recordedNodes } from '../maintenance/recorded-node.ts';
import { isOwnController, type DrainPod, endOf, podName, podTypeOf } from '../pod.ts';
import { takesTurns, toldToGuard } from '../reboot/turn.ts';
import { evictionPausedUntil, goesDownSince } from '../staying-pod/returning-pod.ts';
import { goingOf } from '../staying-pod/staying-pods.ts';
import { describeVolumes, type NodeVolumes, recordedWait, waitsForVolumes } from '../volume/wait.ts';
import { endingWait, type Waiting } from './waits.ts';

/** What one look at a node has found. */
interface NodeFacts {
  readonly nodeName: string;
  /** The node's object; undefined where the API server has none. */
  readonly node: Node | undefined;
  /** Its pods that have not ended. */
  readonly pods: readonly Pod[];
  /** The same for static pods by their manifests, where these are known. */
  readonly staticPods: readonly DrainPod[];
  /** The maintenances of the node that may begin, with their recorded targets. */
  readonly maintenances: readonly NodeMaintenance[];
  /** The EvictionRequests of its pods. */
  readonly requests: readonly EvictionRequest[];
  /** By the UID of a pod: what its eviction has come to, as the request of a controller would say it. */
  readonly attempts: ReadonlyMap<string, EvictionRequest>;
  /** The volumes that the node has in use, since when they are waited for, and for how long at most. */
  readonly volumes: {
    readonly names: readonly string[];
    readonly since: number | undefined;
    readonly maxWaitMs: number;
  };
  /** Until when the pod's interceptor may be silent, in milliseconds since the epoch; its time begins with this question. */
  readonly silentUntil: (pod: Pod, request: EvictionRequest | undefined) => number;
  /** Why the one who asks drains the node. */
  readonly why: string;
  readonly now: number;
}

/** What is done about one pod now. */
export type PodStep =
  /** It was told to end; its time is made shorter where a deadline has come closer. */
  | { readonly kind: 'shorten'; readonly pod: Pod; readonly options: EndOptions; readonly waiting: Waiting }
  | { readonly kind: 'wait'; readonly pod: Pod; readonly waiting: Waiting }
  /** A pod of a DaemonSet: it is deleted. */
  | { readonly kind: 'delete'; readonly pod: Pod; readonly options: EndOptions }
  | {
      readonly kind: 'evict';
      readonly pod: Pod;
      readonly options: EndOptions;
      readonly request: EvictionRequest | undefined;
      /** From this time on the pod's own controller is no longer waited for, in milliseconds since the epoch. */
      readonly trustUntil: number | undefined;
      /** Why no budget is asked for it, as a sentence; undefined where the node's are. */
      readonly notAsked: string | undefined;
    };

/** Why no budget is asked for it. */
const OWN_REPLICA = 'a replica of the nodemaint controller holds no machine that goes down';

type EndOptions = ReturnType<typeof endOptionsOf>;

/** What a node is to do. */
export interface NodePlan {
  /** The drains of the node, with the targets that are to be recorded before anything is done by them. */
  readonly drains: readonly SelfDrain[];
  /** What is done about its targeted pods. */
  readonly steps: readonly PodStep[];
  /** Static pods, NAMESPACE/NAME, that wait for interceptors; the others leave by their manifests. */
  readonly awaiting: ReadonlySet<string>;
  /** Why targeted pods are still there, for the status of the maintenances. */
  readonly blocking: readonly BlockingPod[];
}

/** The drains of the node, as far as the pods that are left, the deadlines and the volumes let them go. */
function drainsOf({ nodeName, node, pods, staticPods, maintenances, volumes, now }: NodeFacts): readonly SelfDrain[] {
  const identity = identityOf(node?.metadata ?? { name: nodeName });
  const left = drainPodsOfNode(pods, staticPods, goingOf(maintenances, nodeName, node, now));
  const { names, since: waitsSince, maxWaitMs } = volumes;
  return resolveSelfDrains(maintenances, identity, left, (maintenance, deadline) => {
    const known = (): number =>
      Math.min(waitsSince ?? now, recordedWait(recordedNodes(maintenance.status)(identity)) ?? now);
    // What the last controller has told a member of the control plane stands until there is one again, or a person decides.
    const guard = takesTurns(maintenance, now) ? toldToGuard(maintenance) : undefined;
    return {
      ...dueOnNode(maintenance, { pods, names, known, maxWaitMs, deadline }, now),
      ...(guard === undefined ? {} : { guard }),
    };
  });
}

/** What a pod waits for that others need. */
function waitsForOthers(pod: Pod, volumes: NodeVolumes): Waiting {
  const what = podName(pod.metadata);
  if (!waitsForVolumes(volumes))
    return { wait: 'other-pods', what, on: 'other pods', message: 'runs a driver or the network that they need' };
  const message = `stays for ${describeVolumes([volumes])}`;
  return { wait: 'volumes', what, on: 'kubelet', message, since: volumes.since };
}

/** The questions that are asked of each pod of one look. */
class PodQuestions {
  readonly #facts: NodeFacts;
  readonly #maintenances: readonly NodeMaintenance[];
  readonly #requests: ReadonlyMap<string, EvictionRequest>;

  constructor(facts: NodeFacts, drains: readonly SelfDrain[]) {
    this.#facts = facts;
    this.#maintenances = drains.map(({ maintenance }) => maintenance);
    this.#requests = new Map(facts.requests.map((request) => [request.spec.target.pod.uid, request]));
  }

  requestOf({ metadata }: Pod): EvictionRequest | undefined {
    return this.#requests.get(metadata.uid ?? '');
  }

  /** Whether the machine of the node goes down. */
  goesDown(): boolean {
    return this.#maintenances.some((each) => agentNodeOf(each) === this.#facts.nodeName);
  }

  trustUntil(pod: Pod): number | undefined {
    return interceptorsUntil(pod, this.#facts.pods, this.#maintenances);
  }

  optionsOf(pod: Pod): EndOptions {
    return endOptionsOf(pod, this.#facts.pods, this.#maintenances, this.#facts.now);
  }

  /** For whom a targeted pod has to stay: for nobody where a deadline is over, the request is spent, or the interceptor silent. */
  awaited(pod: Pod): AwaitingPod | undefined {
    const { now, silentUntil, why } = this.#facts;
    const request = this.requestOf(pod);
    const isOver = now >= Math.min(this.trustUntil(pod) ?? Infinity, silentUntil(pod, request));
    const waitsForNone = isOver || (request !== undefined && isSpent(request, pod, now));
    return awaitingPodOf(pod, request, { waitsForNone, why });
  }

  /** When a pod that came past the cordon may be evicted; undefined for now. */
  pausedUntil(pod: Pod): number | undefined {
    const node = { name: pod.spec.nodeName ?? '' };
    const began = this.#maintenances.flatMap((each) => drainBegan(each, node) ?? [])[0];
    return evictionPausedUntil(pod, began, this.#facts.now);
  }
}

/** What is done about one targeted pod; undefined for a static one, which leaves by its manifest. */
function stepOf(
  pod: Pod,
  { now, silentUntil }: NodeFacts,
  asked: PodQuestions,
  awaited: AwaitingPod | undefined,
): PodStep | undefined {
  const what = podName(pod.metadata);
  const podType = podTypeOf(pod);
  const options = asked.optionsOf(pod);
  const end = endOf(pod);
  if (end !== undefined) {
    // A controller that is alive again may give the same order: it changes nothing.
    const kind = podType === 'Static' ? 'wait' : 'shorten';
    return { kind, pod, options, waiting: endingWait(what, 'kubelet', end, now) };
  }
  if (awaited !== undefined) {
    const { on, message } = awaited;
    const expectedAt = silentUntil(pod, asked.requestOf(pod));
    return { kind: 'wait', pod, waiting: { wait: 'interceptor', what, on, message, expectedAt } };
  }
  if (podType === 'Static') return undefined;
  const expectedAt = asked.pausedUntil(pod);
  if (expectedAt !== undefined) {
    const message = 'came to the node past its cordon, and is evicted soon';
    return { kind: 'wait', pod, waiting: { wait: 'returning', what, on: IMPERATIVE_INTERCEPTOR, message, expectedAt } };
  }
  if (podType === 'DaemonSet') return { kind: 'delete', pod, options };
  const notAsked = isOwnController(pod) && asked.goesDown() ? OWN_REPLICA : undefined;
  return { kind: 'evict', pod, options, request: asked.requestOf(pod), trustUntil: asked.trustUntil(pod), notAsked };
}

/** Why targeted pods are still there: their evictions are refused, or interceptors, volumes or other pods keep them. */
function blockingOf(
  { nodeName, node, pods, attempts, now }: NodeFacts,
  drains: readonly SelfDrain[],
  steps: readonly PodStep[],
): readonly BlockingPod[] {
  const evicting = evictingUids(drains);
  const staying = stayingForOthers(drains);
  const maintenances = drains.map(({ maintenance }) => maintenance);
  const goesDown = goesDownSince(maintenances, { name: nodeName }, undefined);
  const began = goesDown ?? maintenances.flatMap((each) => drainBegan(each, { name: nodeName }) ?? [])[0];
  const since = maintenances[0]?.metadata.creationTimestamp ?? '';
  const interceptors = steps.flatMap((step): readonly (readonly [string, BlockingPod])[] => {
    const { namespace = 'default', name, uid = '' } = step.pod.metadata;
    if (step.kind !== 'wait' || step.waiting.wait !== 'interceptor') return [];
    return [[uid, { namespace, name, reason: 'Interceptor', message: step.waiting.message, since }]];
  });
  const known = new Map(interceptors);
  return pods.flatMap((pod) => {
    const { uid = '' } = pod.metadata;
    if (!evicting.has(uid)) return [];
    const request = isInBackground(pod) ? undefined : attempts.get(uid);
    const stays = { stays: staying.has(uid), volumes: staying.get(uid) };
    return whyLeft(pod, { ...stays, known: known.get(uid), request, node, began, since: goesDown }, now) ?? [];
  });
}

/** Decides what the node is to do now. */
export function decideNode(facts: NodeFacts): NodePlan {
  const drains = drainsOf(facts);
  const asked = new PodQuestions(facts, drains);
  const evicting = evictingUids(drains);
  const staying = stayingForOthers(drains);
  const awaiting = new Set<string>();
  const steps = facts.pods.flatMap((pod): readonly PodStep[] => {
    const { uid = '', deletionTimestamp } = pod.metadata;
    const isStatic = podTypeOf(pod) === 'Static';
    if (!isStatic && !evicting.has(uid)) return [];
    const needed = deletionTimestamp === undefined ? staying.get(uid) : undefined;
    if (needed !== undefined) return [{ kind: 'wait', pod, waiting: waitsForOthers(pod, needed) }];
    const awaited = asked.awaited(pod);
    if (isStatic && awaited !== undefined) awaiting.add(podName(pod.metadata));
    const step = stepOf(pod, facts, asked, awaited);
    return step === undefined ? [] : [step];
  });
  return { drains, steps, awaiting, blocking: blockingOf(facts, drains, steps) };
}
