/**
 * The agent as the interceptor `kubelet.k8s.io` (KEP-4212, "kubelet: Static Pods"): it acts on an EvictionRequest only
 * when it is the active interceptor, the target is a mirror pod of this node with that UID, and a maintenance targets it.
 * Otherwise it says nothing, so that the request is not kept alive by it.
 */
import { KUBELET_INTERCEPTOR } from '../../api/names.ts';
import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { reachesStaticPods, targetsCover } from '../../decide/drain/plan.ts';
import type { NodeDrain } from '../../decide/maintenance/maintenance.ts';
import { judgeTarget, type MirrorVerdict, staticUidOf } from '../../decide/static-pod/mirror-pod.ts';
import { type Leave, podKey, type StaticPodProgress } from '../../decide/static-pod/moves.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isActiveInterceptor, type InterceptorStep } from '../../kube/eviction/interceptor.ts';
import { listAll } from '../../kube/list.ts';
import { collectionPath, onNode, PODS } from '../../kube/resource.ts';
import { shortened } from '../../printable.ts';
import type { Log } from '../../telemetry/log.ts';
import type { NodeEvictionRequests } from '../cluster/eviction-requests.ts';
import type { NodeMaintenances } from '../cluster/node-maintenances.ts';
import type { StaticPodView } from './view.ts';

/** What the cluster wants of the static pods. */
export interface ClusterIntent {
  readonly leave: ReadonlyMap<string, Leave>;
  /** Pods that are targeted, whoever is asked about them now. */
  readonly targeted: ReadonlySet<string>;
  /** Mirror pods of this node, by pod key; undefined where they were not asked for or could not be. */
  readonly mirrors: ReadonlySet<string> | undefined;
}

/** The interceptor; it remembers which requests it has checked. */
export interface KubeletInterceptor {
  /** What is wanted now; `wantsMirrors` asks for the mirror pods in any case. */
  observe(
    view: StaticPodView,
    drains: readonly NodeDrain[],
    wantsMirrors: boolean,
    signal: AbortSignal,
  ): Promise<ClusterIntent>;
  /** Tells each request that is ours how far its pod is. What cannot be told is logged: it must not keep a pod. */
  report(view: StaticPodView, progress: readonly StaticPodProgress[], signal: AbortSignal): Promise<void>;
}

export interface KubeletInterceptorDependencies {
  readonly client: KubeClient;
  readonly cluster: {
    readonly maintenances: Pick<NodeMaintenances, 'get'>;
    readonly requests: Pick<NodeEvictionRequests, 'list' | 'report'>;
  };
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
}

/** A request that is not ours is looked at again only so often: a stale one may lie there for hours. */
const AGAIN_MS = 30_000;
/** A node may not report more, in characters (the policy nodemaint-node-eviction-requests). */
const MAX_MESSAGE = 1_024;

interface Checked {
  readonly verdict: MirrorVerdict;
  readonly at: number;
}

function keyOf(request: EvictionRequest): string {
  return `${request.metadata.namespace}/${request.spec.target.pod.name}`;
}

function idOf(request: EvictionRequest): string {
  return `${request.metadata.namespace}/${request.metadata.name}/${request.metadata.uid}`;
}

/** Makes the interceptor of the node `nodeName`. */
export function createKubeletInterceptor(dependencies: KubeletInterceptorDependencies): KubeletInterceptor {
  const { client, cluster, clock, log, nodeName } = dependencies;
  let checked = new Map<string, Checked>();
  let complained = '';
  /** Whether a drain targets static pods; no one of them is known where the directory is refused. */
  let isReached = false;

  const turns = (): readonly EvictionRequest[] =>
    cluster.requests.list().filter((request) => isActiveInterceptor(request, KUBELET_INTERCEPTOR));

  const readMirrors = async (signal: AbortSignal): Promise<ReadonlyMap<string, Pod> | undefined> => {
    // By the node's name, as a node's identity is allowed to ask.
    const place = { path: collectionPath(PODS), query: { fieldSelector: onNode(nodeName) } };
    try {
      const list = await listAll<Pod>(client, place, (pod) => pod, signal);
      complained = '';
      const mirrors = list.items.filter((pod) => staticUidOf(pod) !== undefined);
      return new Map(mirrors.map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod]));
    } catch (error) {
      signal.throwIfAborted();
      const reason = describeError(error);
      if (reason !== complained) log.warn({ reason }, 'cannot ask for the mirror pods, eviction requests wait');
      complained = reason;
      return undefined;
    }
  };

  const isCurrent = (known: Checked | undefined): boolean =>
    known !== undefined && (known.verdict.kind === 'ours' || clock.monotonic() < known.at + AGAIN_MS);

  const check = (
    requests: readonly EvictionRequest[],
    view: StaticPodView,
    mirrors: ReadonlyMap<string, Pod>,
  ): void => {
    for (const request of requests) {
      const known = checked.get(idOf(request));
      if (isCurrent(known)) continue;
      const key = keyOf(request);
      const isParked = view.parked.some((pod) => podKey(pod) === key);
      const verdict = judgeTarget(request, mirrors.get(key), { nodeName, isParked });
      checked.set(idOf(request), { verdict, at: clock.monotonic() });
      if (verdict.kind === 'not-ours' && known === undefined) {
        log.warn(
          { evictionRequest: request.metadata.name, reason: verdict.message },
          'eviction request not acted upon',
        );
      }
    }
  };

  const isOurs = (request: EvictionRequest): boolean => checked.get(idOf(request))?.verdict.kind === 'ours';

  /** The drain that targets the pod, by the priority that the mirror pod has, as the controller sees it. */
  const drainOf = (
    pod: StaticPodView['inPlace'][number],
    drains: readonly NodeDrain[],
    mirrors: ReadonlyMap<string, Pod> | undefined,
    requests: readonly EvictionRequest[],
  ): NodeDrain | undefined => {
    const request = requests.find((each) => keyOf(each) === podKey(pod));
    const verdict = request === undefined ? undefined : checked.get(idOf(request))?.verdict;
    const resolved = verdict?.kind === 'ours' ? verdict.priority : mirrors?.get(podKey(pod))?.spec.priority;
    const priority = resolved ?? pod.priority;
    return drains.find(({ drainTargets }) => targetsCover(drainTargets, { ...pod, priority, podType: 'Static' }));
  };

  const turnOf = (request: EvictionRequest, view: StaticPodView, pod: StaticPodProgress): InterceptorStep => {
    const { name } = request.spec.target.pod;
    if (pod.state === 'ended') {
      const message = `${name} has ended; its manifest ${pod.file} is kept out until the node maintenance is complete.`;
      return { kind: 'completed', message };
    }
    const maintenance = view.parked.find(({ file }) => file === pod.file)?.maintenance ?? '';
    const reason = cluster.maintenances.get(maintenance)?.spec.reason ?? `see the NodeMaintenance ${maintenance}`;
    const message =
      pod.message === undefined
        ? `${name} is terminating the pod due to node maintenance (${reason}).`
        : `${name} is to leave: ${pod.message}.`;
    return { kind: 'working', message: shortened(message, MAX_MESSAGE), expectedFinishAt: pod.expectedFinishAt };
  };

  return {
    observe: async (view, drains, wantsMirrors, signal) => {
      isReached = drains.some(({ drainTargets }) => reachesStaticPods(drainTargets));
      const requests = turns();
      const ids = new Set(requests.map(idOf));
      checked = new Map([...checked].filter(([id]) => ids.has(id)));
      const isNew = requests.some((request) => !isCurrent(checked.get(idOf(request))));
      const waiting = new Set(requests.map(keyOf));
      // Whether etcd or the API server may go depends on the others, which need not have requests yet.
      const isLast = view.inPlace.some((pod) => pod.component !== undefined && waiting.has(podKey(pod)));
      const mirrors = isNew || isLast || wantsMirrors ? await readMirrors(signal) : undefined;
      if (mirrors !== undefined) check(requests, view, mirrors);
      const ours = new Set(requests.filter(isOurs).map(keyOf));
      const leave = new Map<string, Leave>();
      const targeted = new Set<string>();
      const requested = new Set(cluster.requests.list().map(keyOf));
      for (const pod of view.inPlace) {
        const drain = drainOf(pod, drains, mirrors, requests);
        if (drain === undefined) continue;
        const key = podKey(pod);
        // A pod that the API server does not know will never be asked to leave: nobody is to wait for it.
        if (requested.has(key) || mirrors?.has(key) === true) targeted.add(key);
        if (ours.has(key)) leave.set(key, { maintenance: drain.maintenance, reason: drain.reason });
      }
      return { leave, targeted, mirrors: mirrors === undefined ? undefined : new Set(mirrors.keys()) };
    },
    report: async (view, progress, signal) => {
      for (const request of turns().filter(isOurs)) {
        const pod = progress.find(({ key }) => key === keyOf(request));
        if (pod === undefined && (view.refusal === undefined || !isReached)) continue;
        const refused = { message: `${request.spec.target.pod.name} stays: its manifest cannot be moved.` };
        const turn = pod === undefined ? ({ kind: 'working', ...refused } as const) : turnOf(request, view, pod);
        try {
          await cluster.requests.report(request, turn, signal);
        } catch (error) {
          signal.throwIfAborted();
          const reason = describeError(error);
          log.warn({ evictionRequest: request.metadata.name, reason }, 'cannot report on an eviction request');
        }
      }
    },
  };
}
