import type { EvictionRequest } from '../../../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../../api/names.ts';
import type { Pod } from '../../../api/pod.ts';
import { endOptionsOf, interceptorsUntil } from '../../../decide/deadline/maintenance.ts';
import {
  type AwaitingPod,
  awaitingPodOf,
  evictingUids,
  stayingForOthers,
  type SelfDrain,
} from '../../../decide/drain/self-drain.ts';
import { isSpent } from '../../../decide/eviction/spent-request.ts';
import { agentNodeOf, type NodeDrain } from '../../../decide/maintenance/maintenance.ts';
import { isOwnController } from '../../../decide/own-controller.ts';
import { endOf, podTypeOf } from '../../../decide/pod.ts';
import { drainBegan } from '../../../decide/maintenance/recorded-node.ts';
import { evictionPausedUntil } from '../../../decide/staying-pod/returning-pod.ts';
import { describeVolumes, type NodeVolumes, waitsForVolumes } from '../../../decide/volume/wait.ts';
import type { Clock } from '../../../host/clock.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { type EndOptions, shortenEnd } from '../../../kube/eviction/evictor.ts';
import { keyOf } from '../../../kube/resource.ts';
import type { Waiting } from '../../iteration/waited-for.ts';
import type { SelfRemovals } from './daemon-sets.ts';
import type { SelfEvictions } from './evictions.ts';
import { createInterceptorSilence } from './interceptor-silence.ts';
import { createPendingSteps } from './pending-steps.ts';

/** The pods of the node, its drains, and what these mean for each pod. */
export interface PodScope {
  readonly own: readonly SelfDrain[];
  readonly pods: readonly Pod[];
  readonly requestOf: (pod: Pod) => EvictionRequest | undefined;
  /** When a deadline ends the trust in the pod's interceptors, in milliseconds since the epoch; undefined for never. */
  readonly trustUntil: (pod: Pod) => number | undefined;
  /** Whether none of the pod's interceptors is waited for: a deadline is over, the request is spent, or the interceptor silent. */
  readonly waitsForNone: (pod: Pod) => boolean;
  /** When the pod's interceptor will have been silent for too long, in milliseconds since the epoch. */
  readonly silentUntil: (pod: Pod) => number;
  readonly optionsOf: (pod: Pod) => EndOptions;
  /** Why the agent drains the node. */
  readonly why: string;
}

/** What the pass over the pods acts on. */
export interface PodPass extends PodScope {
  /** The drains as the status of the maintenances records them. */
  readonly recorded: readonly NodeDrain[];
  /** Why budgets are not asked for the pods of this node, as a sentence; undefined where they are. */
  readonly whyNotAsked: () => string | undefined;
  /** Asked right before each step that takes a pod away. */
  readonly mayAct: () => Promise<boolean>;
}

export interface EndedPods {
  /** Static pods, NAMESPACE/NAME, that wait for interceptors. */
  readonly awaiting: ReadonlySet<string>;
  readonly waiting: readonly Waiting[];
}

/** Ends the targeted pods of the node: by eviction, and those of DaemonSets by deletion. */
export interface PodRemoval {
  scopeOf(own: readonly SelfDrain[], pods: readonly Pod[], requests: readonly EvictionRequest[]): PodScope;
  /**
   * Takes the next step of every targeted pod: what is refused for one, or held up by a webhook, does not keep the others.
   * Throws API_UNREACHABLE.
   */
  end(pass: PodPass, signal: AbortSignal): Promise<EndedPods>;
  /** Ends the steps under way. */
  forget(): void;
}

interface PodRemovalDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly evictions: Pick<SelfEvictions, 'evict'>;
  readonly removals: Pick<SelfRemovals, 'remove'>;
  /** Why the agent drains the node. */
  readonly why: () => string;
}

const OWN_REPLICA = 'a replica of the nodemaint controller holds no machine that goes down';

/** The next step of one pod; undefined for a static one, which leaves by its manifest. */
async function endPod(
  { client, clock, evictions, removals }: PodRemovalDependencies,
  { pod, awaited, pass }: { readonly pod: Pod; readonly awaited: AwaitingPod | undefined; readonly pass: PodPass },
  signal: AbortSignal,
): Promise<Waiting | undefined> {
  const podType = podTypeOf(pod);
  const options = pass.optionsOf(pod);
  if (pod.metadata.deletionTimestamp !== undefined) {
    // A controller that is alive again may give the same order: it changes nothing.
    if (podType !== 'Static') await shortenEnd(client, pod, { options, now: clock.now() }, signal);
    const expectedAt = endOf(pod)?.endsAt ?? clock.now();
    return { what: keyOf(pod), on: 'kubelet', message: 'is terminating', ending: true, expectedAt };
  }
  if (awaited !== undefined) {
    return { what: keyOf(pod), on: awaited.on, message: awaited.message, expectedAt: pass.silentUntil(pod) };
  }
  // A static pod leaves by its manifest.
  if (podType === 'Static') return undefined;
  const node = { name: pod.spec.nodeName ?? '' };
  const began = pass.own.flatMap(({ maintenance }) => drainBegan(maintenance, node) ?? [])[0];
  const pausedUntil = evictionPausedUntil(pod, began, clock.now());
  if (pausedUntil !== undefined) {
    return {
      what: keyOf(pod),
      on: IMPERATIVE_INTERCEPTOR,
      message: 'came to the node past its cordon, and is evicted soon',
      expectedAt: pausedUntil,
    };
  }
  if (podType === 'DaemonSet') return await removals.remove(pod, { ...pass, options }, signal);
  const { mayAct } = pass;
  const goesDown = pass.own.some(({ maintenance }) => agentNodeOf(maintenance) === node.name);
  const whyNotAsked = goesDown && isOwnController(pod) ? () => OWN_REPLICA : pass.whyNotAsked;
  const scope = { request: pass.requestOf(pod), options, trustUntil: pass.trustUntil(pod), mayAct, whyNotAsked };
  return await evictions.evict(pod, scope, signal);
}

/** What a pod waits for that others need. */
function waitsForOthers(pod: Pod, volumes: NodeVolumes): Waiting {
  const what = keyOf(pod);
  if (!waitsForVolumes(volumes))
    return { what, on: 'other pods', message: 'runs a driver or the network that they need' };
  return { what, on: 'kubelet', message: `stays for ${describeVolumes([volumes])}`, since: volumes.since };
}

/** The steps end with `lifetime`. */
export function createPodRemoval(dependencies: PodRemovalDependencies, lifetime: AbortSignal): PodRemoval {
  const { clock } = dependencies;
  const steps = createPendingSteps(lifetime);
  const silence = createInterceptorSilence(clock);
  return {
    scopeOf: (own, pods, requests) => {
      const byPod = new Map(requests.map((request) => [request.spec.target.pod.uid, request]));
      const requestOf = ({ metadata }: Pod): EvictionRequest | undefined => byPod.get(metadata.uid ?? '');
      const maintenances = own.map(({ maintenance }) => maintenance);
      const trustUntil = (pod: Pod): number | undefined => interceptorsUntil(pod, pods, maintenances);
      return {
        own,
        pods,
        why: dependencies.why(),
        trustUntil,
        requestOf,
        silentUntil: (pod) => silence.until(pod, requestOf(pod)),
        waitsForNone: (pod) => {
          const request = requestOf(pod);
          const now = clock.now();
          if (now >= Math.min(trustUntil(pod) ?? Infinity, silence.until(pod, request))) return true;
          return request !== undefined && isSpent(request, pod, now);
        },
        optionsOf: (pod) => endOptionsOf(pod, pods, maintenances, clock.now()),
      };
    },
    end: async (pass, signal) => {
      const evicting = evictingUids(pass.own);
      const staying = stayingForOthers(pass.own);
      const awaiting = new Set<string>();
      const waiting: Waiting[] = [];
      for (const pod of pass.pods) {
        const isStatic = podTypeOf(pod) === 'Static';
        if (!isStatic && !evicting.has(pod.metadata.uid ?? '')) continue;
        const needed = staying.get(pod.metadata.uid ?? '');
        if (needed !== undefined && pod.metadata.deletionTimestamp === undefined) {
          waiting.push(waitsForOthers(pod, needed));
          continue;
        }
        const awaited = awaitingPodOf(pod, pass.requestOf(pod), {
          waitsForNone: pass.waitsForNone(pod),
          why: pass.why,
        });
        if (isStatic && awaited !== undefined) awaiting.add(keyOf(pod));
        const waits = await steps.take(
          pod,
          (stepSignal) => endPod(dependencies, { pod, awaited, pass }, stepSignal),
          signal,
        );
        if (waits !== undefined) waiting.push(waits);
      }
      return { awaiting, waiting };
    },
    forget: () => {
      steps.end();
      silence.forget();
    },
  };
}
