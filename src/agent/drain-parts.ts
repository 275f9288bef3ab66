import type { AgentConfig } from '../config/schema.ts';
import type { PhaseEvent } from '../decide/shutdown/events.ts';
import type { Clock } from '../host/clock.ts';
import type { ContainerRuntime } from '../host/cri/runtime.ts';
import type { Log } from '../telemetry/log.ts';
import type { Cluster } from './cluster.ts';
import { createNodePods } from './cluster/on-demand-watch.ts';
import { ControllerDrainer } from './drain/controller-drain.ts';
import { DrainStep } from './drain/drain.ts';
import { GateRelease } from './daemon-set/gate.ts';
import { RunningPods } from './drain/running-pods.ts';
import { ProgressObserver } from './drain/take-over.ts';
import { createOfflineDrainer } from './drain/offline/offline-drain.ts';
import type { OfflinePods } from './drain/offline/stop-pods.ts';
import { RuntimeSilence } from './drain/runtime-silence.ts';
import { SelfDrainer } from './drain/self/self-drain.ts';
import { TerminatingPods } from './drain/terminating-pods.ts';
import { GiveBack } from './drain/uncordon.ts';
import type { StaticPods } from './static-pods/static-pods.ts';

/** What the drain of a node is made with. */
interface DrainParts {
  readonly config: Pick<AgentConfig, 'drainPlan' | 'maxVolumeWaitSec' | 'progressWaitSec'>;
  readonly offlinePods: Pick<OfflinePods, 'observe' | 'stop' | 'whyNone'>;
  readonly staticPods: Pick<StaticPods, 'stuck' | 'kubelet'>;
  readonly runtime: ContainerRuntime;
  /** Starts the container runtime where it is not active; absent where systemd is not asked for anything. */
  readonly startRuntime?: () => void;
  readonly clock: Clock;
  readonly log: Log;
  /** Undefined where no cluster is configured: then only the offline drainer drains. */
  readonly cluster: Cluster | undefined;
  readonly announce: (event: PhaseEvent) => void;
}

/** Puts the three drainers together. Watches end with `lifetime`. */
export function openDrain(parts: DrainParts, lifetime: AbortSignal): DrainStep {
  const { config, offlinePods, staticPods, clock, cluster } = parts;
  const { drainPlan } = config;
  const silence = new RuntimeSilence(clock, parts.startRuntime);
  const offline = createOfflineDrainer({ pods: offlinePods, staticPods, silence, drainPlan, clock });
  const hands = cluster && openHands(parts, cluster, silence, lifetime);
  return new DrainStep({ offline, runningPods: new RunningPods(parts), cluster: hands }, drainPlan, clock);
}

function openHands(
  { config, staticPods, runtime, clock, announce }: DrainParts,
  cluster: Cluster,
  silence: RuntimeSilence,
  lifetime: AbortSignal,
): ConstructorParameters<typeof DrainStep>[0]['cluster'] {
  const { dependencies, own, ownNode, interceptor, lease, maintenances, requests } = cluster;
  const isAfterShutdown = (): boolean => own.own().length > 0;
  const giveBack = new GiveBack(dependencies, { gates: new GateRelease(dependencies), ownNode, isAfterShutdown });
  const pods = createNodePods(dependencies, lifetime);
  const shared = { dependencies, own, ownNode, lease, maintenances, requests, pods, giveBack };
  const { nodeName } = dependencies;
  const observer = new ProgressObserver({
    ...shared,
    nodeName,
    clock,
    maxIdleMs: config.progressWaitSec * 1000,
    announce,
  });
  const byController = new ControllerDrainer(dependencies, { own, ownNode, interceptor });
  const maxVolumeWaitMs = config.maxVolumeWaitSec * 1000;
  const self = new SelfDrainer(
    { ...shared, byController, controller: observer, maxVolumeWaitMs },
    dependencies,
    lifetime,
  );
  return { byController, self, observer, told: new TerminatingPods({ ...shared, runtime, staticPods, silence }) };
}
