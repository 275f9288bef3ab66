import type { AgentConfig } from '../config/schema.ts';
import type { PhaseEvent } from '../decide/shutdown/events.ts';
import type { Clock } from '../host/clock.ts';
import type { ContainerRuntime } from '../host/cri/runtime.ts';
import type { Log } from '../telemetry/log.ts';
import type { Cluster } from './cluster.ts';
import { createNodePods } from './cluster/on-demand-watch.ts';
import { endBlockedPods, createControllerDrainer } from './drain/controller-drain.ts';
import { DrainStep } from './drain/drain.ts';
import { NO_DRAINER } from './drain/drainer.ts';
import { GateRelease } from './drain/gates.ts';
import { LastLook } from './drain/last-look.ts';
import { ProgressObserver } from './drain/observer.ts';
import { createOfflineDrainer } from './drain/offline/offline-drain.ts';
import type { OfflinePods } from './drain/offline/offline-pods.ts';
import { RuntimeSilence } from './drain/runtime-silence.ts';
import { SelfDrainer } from './drain/self/self-drain.ts';
import { ToldPods } from './drain/told-pods.ts';
import { GiveBack } from './drain/give-back.ts';
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
  const { config, offlinePods: pods, staticPods, runtime, clock, cluster, announce } = parts;
  const { drainPlan } = config;
  const silence = new RuntimeSilence(clock, parts.startRuntime);
  const offline = createOfflineDrainer({ pods, staticPods, silence, drainPlan, clock });
  const lastLook = new LastLook(parts);
  if (cluster === undefined) {
    const drainers = { controller: NO_DRAINER, self: NO_DRAINER, offline };
    return new DrainStep({ drainers, observer: undefined, lastLook, told: undefined }, drainPlan, clock);
  }
  const { dependencies, own, ownNode } = cluster;
  const isAfterShutdown = (): boolean => own.own().length > 0;
  const giveBack = new GiveBack(dependencies, { gates: new GateRelease(dependencies), ownNode, isAfterShutdown });
  const { maintenances, requests, lease } = cluster;
  const nodePods = createNodePods(dependencies, lifetime);
  const scope = {
    nodeName: dependencies.nodeName,
    clock,
    lease,
    maintenances,
    own,
    requests,
    pods: nodePods,
    giveBack,
  };
  const observer = new ProgressObserver({ ...scope, maxIdleMs: config.progressWaitSec * 1000, announce });
  const byController = createControllerDrainer(own, cluster.interceptor, endBlockedPods(dependencies), ownNode);
  const maxVolumeWaitMs = config.maxVolumeWaitSec * 1000;
  const kubelet = (signal: AbortSignal): ReturnType<StaticPods['kubelet']> => staticPods.kubelet(signal);
  const told = new ToldPods({ runtime, kubelet, silence, maintenances, pods: nodePods, ownNode, dependencies });
  const shared = { requests, giveBack, maintenances, ownNode, byController, pods: nodePods };
  const alone = { ...shared, controller: observer, maxVolumeWaitMs };
  const self = new SelfDrainer(alone, dependencies, lifetime);
  const drainers = { controller: byController, self, offline };
  return new DrainStep({ drainers, observer, lastLook, told }, drainPlan, clock);
}
