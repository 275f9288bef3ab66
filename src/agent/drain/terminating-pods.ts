import type { Pod } from '../../api/pod.ts';
import { endingWaits, kubeletWaits } from '../../decide/node/waits.ts';
import { earliestDeadline } from '../../decide/deadline/maintenance.ts';
import { isTerminal } from '../../decide/pod.ts';
import { drainEnd, leftOf } from '../../decide/staying-pod/left-pods.ts';
import { type GoingDown, readySinceOf } from '../../decide/staying-pod/staying-pods.ts';
import { decideToldPods, isLookDue } from '../../decide/staying-pod/terminating-pods.ts';
import { podKey } from '../../decide/static-pod/moves.ts';
import { describeError } from '../../errors.ts';
import { SandboxStops } from '../../host/cri/sandbox-stops.ts';
import { type ContainerRuntime, type PodSandbox, SilentRuntimeError } from '../../host/cri/runtime.ts';
import { deletePod } from '../../kube/eviction/evictor.ts';
import { keyOf } from '../../kube/resource.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { NodeMaintenances } from '../cluster/maintenance-watch.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import { followed, type NodePods } from '../cluster/on-demand-watch.ts';
import type { StaticPods } from '../static-pods/static-pods.ts';
import { isRunning, type StaticPodView } from '../static-pods/view.ts';
import { type DrainPass, manifestsOf, type PassFacts } from './drainer.ts';
import type { RuntimeSilence } from './runtime-silence.ts';

/** What the pods that were told to end are seen and ended with. */
interface ToldPodParts {
  readonly runtime: ContainerRuntime;
  readonly staticPods: Pick<StaticPods, 'kubelet'>;
  readonly silence: RuntimeSilence;
  readonly maintenances: Pick<NodeMaintenances, 'drains' | 'get'>;
  readonly pods: NodePods;
  readonly ownNode: Pick<OwnNode, 'observe'>;
  readonly dependencies: ClusterDependencies;
}

/** What the pods are looked at by. */
interface Scene {
  readonly view: StaticPodView;
  readonly goesDown: boolean;
}

/** What was seen of the node in one pass. */
interface Sight {
  /** Since when the kubelet has been down, in milliseconds since the epoch; undefined where it is up, or was not asked. */
  readonly kubeletDownSince: number | undefined;
  /** What lives in the runtime, or the UIDs of the pods with processes where that is silent; undefined where nothing tells it. */
  readonly live?: readonly PodSandbox[] | Set<string> | undefined;
  /** Why the runtime is silent; absent where it is not, or was not asked. */
  readonly silent?: string;
}

/** An object that could not be removed is tried again after this time. */
const REMOVE_EVERY_MS = 15_000;
const NODE_EVERY_MS = 60_000;

/** The pods of this node that were told to end, whoever drains it with the API server: in the end somebody ends them, or nobody waits. */
export class TerminatingPods {
  readonly #parts: ToldPodParts;
  readonly #stops;
  /** When the removal of an object was last tried, by UID, on the monotonic clock. */
  readonly #removals = new Map<string, number>();

  constructor(parts: ToldPodParts) {
    this.#parts = parts;
    this.#stops = new SandboxStops(parts.runtime, parts.dependencies);
  }

  /** Does what is due after a pass, by this agent or not, and ends the drain where nothing is left that is waited for. */
  async after(
    pass: DrainPass,
    { record: { phase }, view }: PassFacts,
    isSelf: boolean,
    signal: AbortSignal,
  ): Promise<DrainPass> {
    const { pods: watch, silence, dependencies } = this.#parts;
    // A machine that waits for its turn has begun nothing.
    const goesDown = phase.kind === 'draining' && pass.downSince !== undefined;
    if (!goesDown && !this.#hasDeadline()) {
      // The drain by the agent needs the watch, too.
      if (!isSelf) this.stop();
      return pass;
    }
    const pods = followed(watch)
      ?.list()
      .filter((pod) => !isTerminal(pod));
    if (pods === undefined) return pass;
    const scene = { view, goesDown };
    const sight = await this.#look(pods, scene, pass.leave.size > 0, signal);
    await this.#act(pods, { ...scene, ...sight }, signal);
    if (!goesDown || pass.drained) return pass;
    const unseen = sight.silent === undefined ? undefined : silence.unseen(sight.silent);
    if (unseen === undefined && sight.live !== undefined) silence.end();
    // Once it is over, what others were asked for is waited for alone.
    const unseenPods = unseen === undefined || unseen.left !== undefined ? [] : [unseen.waiting];
    const now = dependencies.clock.now();
    const machine = [...kubeletWaits(sight.kubeletDownSince, now), ...unseenPods];
    const seen = { ...pass, waiting: [...machine, ...pass.waiting, ...endingWaits(pods, now)] };
    if (pass.awaitsVolumes === true) return seen;
    const scope = { since: pass.downSince, now, nobodyEnds: unseen?.left };
    const readySince = await this.#readySince(pods, signal);
    const end = drainEnd(leftOf(pods, manifestsOf(view), { ...scope, readySince }));
    return end.left === undefined ? seen : { ...seen, ...end };
  }

  /** Ends the watch: nothing of the kind is due. */
  stop(): void {
    this.#parts.pods.stop();
    this.#removals.clear();
  }

  /** Since when the kubelet has been Ready, where a pod was told to end. The Node that the facts of the phase go by is recent enough. */
  async #readySince(pods: readonly Pod[], signal: AbortSignal): Promise<GoingDown['readySince']> {
    if (!pods.some(({ metadata }) => metadata.deletionTimestamp !== undefined)) return undefined;
    const own = await this.#parts.ownNode.observe(NODE_EVERY_MS, signal);
    return own.kind === 'present' ? readySinceOf(own.node) : undefined;
  }

  #hasDeadline(): boolean {
    const { maintenances } = this.#parts;
    const drains = maintenances.drains().flatMap(({ maintenance }) => maintenances.get(maintenance) ?? []);
    return earliestDeadline(drains) !== undefined;
  }

  /** Asks the kubelet where somebody has to end, and the runtime where the kubelet does not end it. */
  async #look(pods: readonly Pod[], { view, goesDown }: Scene, leaves: boolean, signal: AbortSignal): Promise<Sight> {
    const { staticPods, runtime, silence, dependencies } = this.#parts;
    const isParked = view.parked.some(({ thisBoot }) => thisBoot);
    const told = pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    const isEnding = goesDown && (isParked || leaves || told.length > 0);
    const kubelet = isEnding ? await staticPods.kubelet(signal) : undefined;
    const kubeletDownSince = kubelet?.kind === 'down' ? kubelet.since : undefined;
    const now = dependencies.clock.now();
    const isDue = kubeletDownSince !== undefined || told.some((pod) => silence.isOpen || isLookDue(pod, now));
    // Where the view has a sandbox, the runtime has answered in this pass.
    if (!isDue && !(isParked && (view.live?.size ?? 0) === 0)) return { kubeletDownSince };
    try {
      return { kubeletDownSince, live: await runtime.livePods(signal) };
    } catch (error) {
      signal.throwIfAborted();
      const live = error instanceof SilentRuntimeError ? error.withProcesses : undefined;
      return { kubeletDownSince, live, silent: describeError(error) };
    }
  }

  async #act(
    pods: readonly Pod[],
    { view, goesDown, kubeletDownSince, live }: Scene & Sight,
    signal: AbortSignal,
  ): Promise<void> {
    if (live === undefined) return;
    const { clock } = this.#parts.dependencies;
    const now = clock.now();
    const kubeletDownMs = now - (kubeletDownSince ?? now);
    const parked = view.parked.filter((pod) => pod.thisBoot && (live instanceof Set || !isRunning(pod, view)));
    const ended = new Set(parked.map(podKey));
    const scope = { now, goesDown, hasDeadline: this.#hasDeadline(), kubeletDownMs, live, ended };
    for (const step of decideToldPods(pods, scope)) {
      if (step.kind === 'remove') await this.#remove(step.pod, signal);
      else this.#stops.begin(step.sandboxId, step.graceSec, { pod: keyOf(step.pod) }, signal);
    }
  }

  /** Takes the object of a pod of which nothing runs away, as its kubelet does. */
  async #remove(pod: Pod, signal: AbortSignal): Promise<void> {
    const { client, clock, log } = this.#parts.dependencies;
    const { uid = '' } = pod.metadata;
    const now = clock.monotonic();
    if (now - (this.#removals.get(uid) ?? -Infinity) < REMOVE_EVERY_MS) return;
    this.#removals.set(uid, now);
    try {
      await deletePod(client, pod, { gracePeriodSeconds: 0 }, signal);
      log.warn({ pod: keyOf(pod) }, 'nothing of the pod runs any more, and the kubelet does not say so: removed it');
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ pod: keyOf(pod), reason: describeError(error) }, 'cannot remove a pod of which nothing runs');
    }
  }
}
