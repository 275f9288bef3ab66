/**
 * The drain of this node's pods while no API server answers: over the container runtime, with the kubelet stopped, for a
 * kubelet that runs brings a pod back within a second (docs/local-drain.md has what was measured).
 */
import { type LocalPod, localPodsOf } from '../decide/local-pods.ts';
import type { DrainPod } from '../decide/pod.ts';
import { describeError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { ContainerRuntime } from '../host/cri.ts';
import type { KubeletUnit } from '../host/kubelet-unit.ts';
import type { Log } from '../telemetry/log.ts';
import type { KnownPods } from './known-pods.ts';
import type { Waiting } from './status.ts';

/** What the runtime shows; not `seen` where it does not answer. */
export interface LocalView {
  readonly seen: boolean;
  /** All but static pods, whose manifests tell more. */
  readonly pods: readonly LocalPod[];
  readonly staticPods: readonly LocalPod[];
}

/** Which pods end. */
export interface LocalStop {
  readonly evicting: readonly DrainPod[];
  /** Static pods whose manifests are parked, as NAMESPACE/NAME. */
  readonly parked: ReadonlySet<string>;
  /** Grace periods in seconds that a deadline made shorter, by UID. */
  readonly graces: ReadonlyMap<string, number>;
}

/** The hands of a local drain beside the mover of manifests. */
export interface LocalDrainer {
  /** Looks at the pods that run. */
  observe(signal: AbortSignal): Promise<LocalView>;
  /**
   * Lets pods end: SIGTERM, their grace period, all at the same time and in the background. The kubelet is stopped before
   * the first one. A pod that is ending already is shortened where a deadline has come closer.
   */
  stop(view: LocalView, stop: LocalStop, signal: AbortSignal): Promise<readonly Waiting[]>;
  /** Starts the kubelet again where it was stopped for a drain; returns whether it is not stopped by us any more. */
  giveBack(signal: AbortSignal): Promise<boolean>;
}

export interface LocalDrainDependencies {
  readonly runtime: ContainerRuntime;
  readonly kubelet: KubeletUnit;
  readonly knownPods: KnownPods;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a pod has been stopped. */
  readonly onChange: () => void;
}

/** So long the runtime may be away, for instance while it restarts, before pods that nobody can see stop to count. */
const RUNTIME_AWAY_MS = 120_000;
/** So often a kubelet may refuse to stop before the drain goes on with static pods alone, which need it. */
const MAX_REFUSALS = 3;
/** A stop that would end earlier by less is not worth another call. */
const SLACK_MS = 1_500;

interface Stop {
  readonly since: number;
  readonly endsAt: number;
}

const NOTHING: LocalView = { seen: true, pods: [], staticPods: [] };

/** Makes the hands, whose work in the background ends with `lifetime`. */
export function createLocalDrainer(dependencies: LocalDrainDependencies, lifetime: AbortSignal): LocalDrainer {
  const { runtime, kubelet, knownPods, clock, log, onChange } = dependencies;
  /** The last call under way for each sandbox, by its id: when it was first told to stop, and when it will have. */
  const stopping = new Map<string, Stop>();
  let awaySince: number | undefined;
  let refusals = 0;

  /** Whether the kubelet is out of the way; where it cannot be stopped, a pod that is would only come back. */
  const withoutKubelet = async (signal: AbortSignal): Promise<boolean> => {
    try {
      await kubelet.stop(signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      refusals += 1;
      const reason = describeError(error);
      log.error({ reason, givenUp: refusals >= MAX_REFUSALS }, 'cannot stop the kubelet for the drain');
      return false;
    }
  };

  /** The runtime sends no second SIGTERM; of several calls for a container the one that ends first counts. */
  const stopSandbox = async (pod: LocalPod, id: string, graceSec: number): Promise<void> => {
    const name = `${pod.namespace}/${pod.name}`;
    const now = clock.now();
    const stop: Stop = { since: stopping.get(id)?.since ?? now, endsAt: now + graceSec * 1000 };
    stopping.set(id, stop);
    log.info({ pod: name, podType: pod.podType, graceSec }, 'stopping pod over the container runtime');
    try {
      await runtime.stopPod(id, graceSec, lifetime);
    } catch (error) {
      if (!lifetime.aborted) log.warn({ pod: name, reason: describeError(error) }, 'pod not stopped, trying again');
    } finally {
      if (stopping.get(id) === stop) stopping.delete(id);
      onChange();
    }
  };

  return {
    observe: async (signal) => {
      if (refusals >= MAX_REFUSALS) return NOTHING;
      try {
        const all = localPodsOf(await runtime.livePods(signal), await knownPods.read());
        awaySince = undefined;
        const isStatic = ({ podType }: LocalPod): boolean => podType === 'Static';
        return { seen: true, pods: all.filter((pod) => !isStatic(pod)), staticPods: all.filter(isStatic) };
      } catch (error) {
        signal.throwIfAborted();
        if (awaySince === undefined) log.warn({ reason: describeError(error) }, 'cannot see the pods of the node');
        awaySince ??= clock.now();
        return { ...NOTHING, seen: clock.now() - awaySince >= RUNTIME_AWAY_MS };
      }
    },
    stop: async (view, { evicting, parked, graces }, signal) => {
      if (view.pods.length > 0 && !(await withoutKubelet(signal))) return [];
      const stopped = await kubelet.isStopped();
      const uids = new Set(evicting.map(({ uid }) => uid));
      const waiting: Waiting[] = [];
      // A static pod whose manifest is parked is the kubelet's to stop, as long as there is one.
      const statics = stopped
        ? view.staticPods.filter(({ namespace, name }) => parked.has(`${namespace}/${name}`))
        : [];
      for (const pod of [...view.pods.filter(({ uid }) => uids.has(uid)), ...statics]) {
        const graceSec = Math.min(pod.graceSec, graces.get(pod.uid) ?? pod.graceSec);
        const endsAt = clock.now() + graceSec * 1000;
        for (const id of pod.sandboxIds) {
          if (endsAt > (stopping.get(id)?.endsAt ?? Infinity) - SLACK_MS) continue;
          stopSandbox(pod, id, graceSec).catch((error: unknown) => {
            log.error({ reason: describeError(error) }, 'stop of a pod failed');
          });
        }
        const stops = pod.sandboxIds.map((id) => stopping.get(id) ?? { since: clock.now(), endsAt });
        waiting.push({
          what: `${pod.namespace}/${pod.name}`,
          on: 'container runtime',
          message: 'is terminating',
          since: Math.min(...stops.map((stop) => stop.since)),
          expectedAt: Math.max(...stops.map((stop) => stop.endsAt)),
        });
      }
      return waiting;
    },
    giveBack: async (signal) => {
      try {
        return await kubelet.giveBack(signal);
      } catch (error) {
        signal.throwIfAborted();
        log.error({ reason: describeError(error) }, 'cannot start the kubelet again, trying again');
        return false;
      }
    },
  };
}
