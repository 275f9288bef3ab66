/**
 * The agent as the interceptor `kubelet.k8s.io` (KEP-4212, "kubelet: Static Pods"): it acts on an EvictionRequest only
 * when it is the active interceptor, the target is a mirror pod of this node with that UID, and a maintenance targets it.
 * Otherwise it reports nothing, so that it does not keep the request alive. While a maintenance targets the pod it also
 * acts, without a report, on a request that can no longer make the pod leave.
 */
import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { NodeMaintenances } from '../cluster/maintenance-watch.ts';
import type { NodeEvictionRequests } from '../cluster/on-demand-watch.ts';
import { isRunning, type StaticPodView } from './view.ts';
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { KUBELET_INTERCEPTOR } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { targetKeyOf } from '../../decide/eviction/request.ts';
import { isSpent } from '../../decide/eviction/spent-request.ts';
import { endingForMessage } from '../../decide/interceptor/message.ts';
import { reachesStaticPods, targetsCover } from '../../decide/maintenance/drain-plan.ts';
import type { NodeDrain } from '../../decide/maintenance/maintenance.ts';
import { firstToLeave, judgeTarget, type MirrorVerdict, staticUidOf } from '../../decide/static-pod/mirror-pod.ts';
import { type Leave, podKey, type StaticPodProgress } from '../../decide/static-pod/moves.ts';
import { describeError } from '../../errors.ts';
import { type InterceptorStep, isActiveInterceptor } from '../../kube/eviction/interceptor.ts';
import { listAll } from '../../kube/list.ts';
import { collectionPath, keyOf, onNode, PODS } from '../../kube/resource.ts';
import { shortened } from '../../printable.ts';
import { createLogOnce, createWarnOnce } from '../../telemetry/log-once.ts';

/** A request that is not for this node's static pods is checked again only this often: a stale one may exist for hours. */
const AGAIN_MS = 30_000;
/** A targeted pod without a request for so long is looked for in the API server; so is each one again after this time. */
const UNASKED_MS = 15_000;
/** A longer message is cut: a node may not report more characters (the policy nodemaint-eviction-request-status). */
const MAX_MESSAGE = 1_024;

/** What a request was found to be when it was checked last. */
interface Checked {
  readonly verdict: MirrorVerdict;
  /** The target of the request as it was then; undefined where it was gone. */
  readonly mirror: Pod | undefined;
  /** Monotonic milliseconds. */
  readonly at: number;
}

function idOf(request: EvictionRequest): string {
  return `${request.metadata.namespace}/${request.metadata.name}/${request.metadata.uid}`;
}

/** The mirror pods of a node, by pod key. */
type MirrorPods = ReadonlyMap<string, Pod>;

/** Creates the reader of the node's mirror pods; it returns undefined while the API server cannot be asked, which is logged. */
export function createMirrorPodReader({
  client,
  log,
  nodeName,
}: Pick<ClusterDependencies, 'client' | 'log' | 'nodeName'>): (signal: AbortSignal) => Promise<MirrorPods | undefined> {
  const warnOnce = createWarnOnce(log, 'cannot ask for the mirror pods, eviction requests wait');
  return async (signal) => {
    // By the node's name, as a node's identity is allowed to ask.
    const place = { path: collectionPath(PODS), query: { fieldSelector: onNode(nodeName) } };
    try {
      const { items: pods } = await listAll<Pod>(client, place, (pod) => pod, signal);
      warnOnce(undefined);
      const mirrors = pods.filter((pod) => staticUidOf(pod) !== undefined);
      return new Map(mirrors.map((pod) => [keyOf(pod), pod]));
    } catch (error) {
      signal.throwIfAborted();
      warnOnce(describeError(error));
      return undefined;
    }
  };
}

/** What the cluster wants of the static pods. */
interface ClusterIntent {
  readonly leave: ReadonlyMap<string, Leave>;
  /** The pods that are targeted, whichever interceptor is active. */
  readonly targeted: ReadonlySet<string>;
  /** The mirror pods of this node, by pod key; undefined where they were not asked for or the API server did not answer. */
  readonly mirrors: ReadonlySet<string> | undefined;
  /** Targeted pods in place that nobody has been asked about, as NAMESPACE/NAME: the API server may not know them. */
  readonly unasked: readonly string[];
}

/** What was read of the cluster in one pass. */
interface Observed {
  /** The requests on which this interceptor may act, checked or not. */
  readonly ours: readonly EvictionRequest[];
  /** Keys of the pods that any request of this node targets. */
  readonly requested: ReadonlySet<string>;
  readonly drains: readonly NodeDrain[];
  readonly mirrors: MirrorPods | undefined;
}

/** What is reported of a pod that leaves; `pod` is undefined for one whose manifest cannot be seen, nor moved. */
function stepOf(
  request: EvictionRequest,
  view: StaticPodView,
  pod: StaticPodProgress | undefined,
  maintenances: Pick<NodeMaintenances, 'get'>,
): InterceptorStep {
  const { name } = request.spec.target.pod;
  if (pod === undefined) return { kind: 'working', message: `${name} stays: its manifest cannot be moved.` };
  if (pod.state === 'ended') {
    const message = `${name} has ended; its manifest ${pod.file} is kept out until the node maintenance is complete.`;
    return { kind: 'completed', message };
  }
  const maintenance = view.parked.find(({ file }) => file === pod.file)?.maintenance ?? '';
  const reason = maintenances.get(maintenance)?.spec.reason ?? `see the NodeMaintenance ${maintenance}`;
  const message = pod.message === undefined ? endingForMessage(name, reason) : `${name} is to leave: ${pod.message}.`;
  return { kind: 'working', message: shortened(message, MAX_MESSAGE), expectedFinishAt: pod.expectedFinishAt };
}

/** What the interceptor goes by. */
interface InterceptedCluster {
  readonly maintenances: Pick<NodeMaintenances, 'get'>;
  readonly requests: Pick<NodeEvictionRequests, 'list' | 'report'>;
}

function isActive(request: EvictionRequest): boolean {
  return isActiveInterceptor(request, KUBELET_INTERCEPTOR);
}

/** The interceptor of the node of `dependencies`; it remembers which requests it has checked. */
export class KubeletInterceptor {
  readonly #dependencies: Pick<ClusterDependencies, 'client' | 'clock' | 'log' | 'nodeName'>;
  readonly #cluster: InterceptedCluster;
  readonly #readMirrors;
  readonly #warnUnknown;
  /** Which requests are for static pods of this node, as far as that was checked, by ID. */
  #checked = new Map<string, Checked>();
  /** Since when pods have been targeted without a request, by pod key, on the monotonic clock. */
  #unasked = new Map<string, number>();
  /** Those of them that the API server does not know, so that nobody is ever asked to let them leave; and when it was asked last. */
  #unknown: ReadonlySet<string> = new Set();
  #readAt = -Infinity;
  /** Whether a drain targets static pods; none of them is known where the directory is refused. */
  #isReached = false;

  constructor(
    dependencies: Pick<ClusterDependencies, 'client' | 'clock' | 'log' | 'nodeName'>,
    cluster: InterceptedCluster,
  ) {
    this.#dependencies = dependencies;
    this.#cluster = cluster;
    this.#readMirrors = createMirrorPodReader(dependencies);
    this.#warnUnknown = createLogOnce((pods) => {
      const what = 'static pods leave that the API server does not know: it may have refused their mirror pods';
      dependencies.log.warn({ pods }, what);
    });
  }

  /** What is wanted now; `wantsMirrors` asks for the mirror pods in any case. */
  async observe(
    view: StaticPodView,
    drains: readonly NodeDrain[],
    wantsMirrors: boolean,
    signal: AbortSignal,
  ): Promise<ClusterIntent> {
    const all = this.#cluster.requests.list();
    this.#isReached = drains.some(({ drainTargets }) => reachesStaticPods(drainTargets));
    const inPlace = new Set(view.inPlace.map(podKey));
    const known = all.filter((each) => isActive(each) || inPlace.has(targetKeyOf(each)));
    const ids = new Set(known.map(idOf));
    this.#checked = new Map([...this.#checked].filter(([id]) => ids.has(id)));
    const isNew = known.some((each) => this.#isDue(each));
    const isOurs = (request: EvictionRequest): boolean => isActive(request) || this.#isSpent(request);
    const ours = known.filter(isOurs);
    const waiting = new Set(ours.map(targetKeyOf));
    // Whether etcd or the API server may go depends on the other static pods, which need not have requests yet.
    const isLast = view.inPlace.some((pod) => pod.component !== undefined && waiting.has(podKey(pod)));
    const requested = new Set(all.map(targetKeyOf));
    const seen = { ours, requested, drains, mirrors: undefined };
    const unasked = view.inPlace
      .filter((pod) => !requested.has(podKey(pod)) && this.#drainOf(pod, seen) !== undefined)
      .map(podKey);
    const isLate = this.#noteUnasked(unasked);
    const mirrors = isNew || isLast || isLate || wantsMirrors ? await this.#readMirrors(signal) : undefined;
    if (mirrors !== undefined) {
      this.#check(known, view, mirrors);
      this.#noteUnknown(mirrors);
    }
    const lost = unasked.filter((key) => this.#unknown.has(key));
    this.#warnUnknown(lost.length === 0 ? undefined : lost.join(', '));
    return { ...this.#intentOf(view, { ...seen, ours: known.filter(isOurs), mirrors }), unasked };
  }

  /**
   * Reports in each request for a static pod of this node how far the pod is. A report that fails is logged: it must not
   * keep a pod.
   */
  async report(view: StaticPodView, progress: readonly StaticPodProgress[], signal: AbortSignal): Promise<void> {
    const { maintenances, requests } = this.#cluster;
    for (const request of requests.list()) {
      if (!isActive(request) || this.#oursOf(request) === undefined) continue;
      const pod = progress.find(({ key }) => key === targetKeyOf(request));
      if (pod === undefined && (view.refusal === undefined || !this.#isReached)) continue;
      try {
        await requests.report(request, stepOf(request, view, pod, maintenances), signal);
      } catch (error) {
        signal.throwIfAborted();
        const what = { evictionRequest: request.metadata.name, reason: describeError(error) };
        this.#dependencies.log.warn(what, 'cannot report on an eviction request');
      }
    }
  }

  /** Whether the request has to be checked: it is new, or it was for another pod when it was checked some time ago. */
  #isDue(request: EvictionRequest): boolean {
    const known = this.#checked.get(idOf(request));
    if (known === undefined) return true;
    return known.verdict.kind !== 'ours' && this.#dependencies.clock.monotonic() >= known.at + AGAIN_MS;
  }

  /** Checks the requests that are due; a request that is not for a static pod of this node is logged once. */
  #check(requests: readonly EvictionRequest[], view: StaticPodView, mirrors: MirrorPods): void {
    const { clock, log, nodeName } = this.#dependencies;
    for (const request of requests.filter((each) => this.#isDue(each))) {
      const isNew = !this.#checked.has(idOf(request));
      const key = targetKeyOf(request);
      const isParked = view.parked.some((pod) => podKey(pod) === key);
      const mirror = mirrors.get(key);
      const verdict = judgeTarget(request, mirror, { nodeName, isParked });
      this.#checked.set(idOf(request), { verdict, mirror, at: clock.monotonic() });
      if (verdict.kind === 'ours' || !isNew) continue;
      log.warn({ evictionRequest: request.metadata.name, reason: verdict.message }, 'eviction request not acted upon');
    }
  }

  /** That the request is for a static pod of this node; undefined for any other, and for one that was not checked. */
  #oursOf(request: EvictionRequest): Extract<MirrorVerdict, { readonly kind: 'ours' }> | undefined {
    const verdict = this.#checked.get(idOf(request))?.verdict;
    return verdict?.kind === 'ours' ? verdict : undefined;
  }

  /** Whether the request is for a static pod of this node and can no longer make it leave. */
  #isSpent(request: EvictionRequest): boolean {
    const mirror = this.#checked.get(idOf(request))?.mirror;
    if (mirror === undefined || this.#oursOf(request) === undefined) return false;
    return isSpent(request, mirror, this.#dependencies.clock.now());
  }

  /** Notes the targeted pods that have no request now; returns whether the mirror pods are to be read. */
  #noteUnasked(keys: readonly string[]): boolean {
    const now = this.#dependencies.clock.monotonic();
    this.#unasked = new Map(keys.map((key) => [key, this.#unasked.get(key) ?? now]));
    this.#unknown = new Set(keys.filter((key) => this.#unknown.has(key)));
    return this.#late(now).length > 0 && now - this.#readAt >= UNASKED_MS;
  }

  #noteUnknown(mirrors: MirrorPods): void {
    this.#readAt = this.#dependencies.clock.monotonic();
    this.#unknown = new Set(this.#late(this.#readAt).filter((key) => !mirrors.has(key)));
  }

  /** The pods that have had no request for some time. */
  #late(now: number): readonly string[] {
    return [...this.#unasked].flatMap(([key, since]) => (now - since >= UNASKED_MS ? [key] : []));
  }

  /** The drain that targets the pod, by the priority that the mirror pod has, as the controller sees it. */
  #drainOf(pod: StaticPodView['inPlace'][number], { ours, drains, mirrors }: Observed): NodeDrain | undefined {
    const request = ours.find((each) => targetKeyOf(each) === podKey(pod));
    const resolved = request && this.#oursOf(request)?.priority;
    const priority = resolved ?? mirrors?.get(podKey(pod))?.spec.priority ?? pod.priority;
    return drains.find(({ drainTargets }) => targetsCover(drainTargets, { ...pod, priority, podType: 'Static' }));
  }

  /** Which pods of the view leave, and which are targeted. */
  #intentOf(view: StaticPodView, observed: Observed): Omit<ClusterIntent, 'unasked'> {
    const { ours, requested, mirrors } = observed;
    const leaving = new Set(ours.filter((each) => this.#oursOf(each) !== undefined).map(targetKeyOf));
    const leave = new Map<string, Leave>();
    const targeted = new Set<string>();
    const drained = view.inPlace.flatMap((pod) => {
      const drain = this.#drainOf(pod, observed);
      return drain === undefined ? [] : [{ key: podKey(pod), priority: pod.priority, drain }];
    });
    const unknown = drained.filter(({ key }) => this.#unknown.has(key));
    const ending = view.parked.filter((pod) => isRunning(pod, view));
    const first = new Set(firstToLeave(unknown, ending));
    for (const pod of drained) {
      const { key, drain } = pod;
      // Of those that are neither asked to leave nor known to stay unknown no other pod may wait.
      if (requested.has(key) || mirrors?.has(key) === true || first.has(pod)) targeted.add(key);
      if (leaving.has(key) || first.has(pod)) leave.set(key, { maintenance: drain.maintenance, reason: drain.reason });
    }
    return { leave, targeted, mirrors: mirrors && new Set(mirrors.keys()) };
  }
}
