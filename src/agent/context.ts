import type { AgentConfig } from '../config/schema.ts';
import type { PhaseEvent } from '../decide/shutdown/events.ts';
import type { Clock } from '../host/clock.ts';
import type { ContainerRuntime } from '../host/cri/runtime.ts';
import type { StateFiles } from '../host/files/state-files.ts';
import type { Mover } from '../static-pods/mover.ts';
import type { DirectoryWatch } from '../static-pods/watch.ts';
import type { Log } from '../telemetry/log.ts';
import type { ClusterParts } from './cluster-parts.ts';
import type { KnownPods } from './drain/offline/known-pods.ts';
import type { OfflinePods } from './drain/offline/offline-pods.ts';
import type { DrainParts } from './drain-parts.ts';
import type { Notices } from './notices/notices.ts';
import type { ShutdownDetector } from './shutdown/detector.ts';
import type { Hooks } from './shutdown/hooks.ts';
import type { LockReconciler } from './shutdown/lock.ts';
import type { StoryRecorder } from './shutdown/story-recorder.ts';
import type { OtherLocks } from './shutdown/other-locks.ts';
import type { ManualRequests } from './static-pods/manual.ts';
import type { StaticPods } from './static-pods/static-pods.ts';
import type { Wakeup } from './iteration/wakeup.ts';

/** The machine: its way down, and its pods where no API server answers. */
export interface MachineParts {
  readonly detector: ShutdownDetector;
  readonly lock: LockReconciler;
  readonly otherLocks: OtherLocks;
  readonly runtime: ContainerRuntime;
  readonly knownPods: KnownPods;
  /** The pods over the container runtime. */
  readonly offlinePods: OfflinePods;
}

/** The static pods of the node, their manifests, and what people asked for with `nodemaint static-pods`. */
export interface StaticPodParts {
  readonly pods: StaticPods;
  readonly manual: ManualRequests;
  /** The journal of moves, as far as the disk is concerned. */
  readonly journal: Pick<Mover, 'problem' | 'retry'>;
  /** On while manifests are parked, to notice at once a manifest that another program writes. */
  readonly directoryWatch: DirectoryWatch;
  /** Looks for the static pod directory again. */
  locate(signal: AbortSignal): Promise<void>;
  /** What is wrong with the configuration of this node's kubelet, for people. */
  warnings(): readonly string[];
}

/** Who is told what the agent does, and the administrator's programs. */
export interface PeopleParts {
  /** Log, Event and terminals. Never waits, never throws. */
  announce(event: PhaseEvent): void;
  /** Shows one line in `systemctl status nodemaint`. */
  notify(line: string): Promise<void>;
  readonly hooks: Hooks;
  /** Keeps what a shutdown did, for `nodemaint report`. */
  readonly story: StoryRecorder;
}

/** What wakes the loop, and the watchdog that is told that the loop does not hang. */
interface LoopParts {
  readonly wakeup: Wakeup;
  readonly markProgress: () => void;
}

/** The parts of the agent. A step takes only those that it needs. */
export interface AgentContext {
  readonly config: AgentConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** The agent's files that outlive restarts and boots. */
  readonly state: StateFiles;
  readonly node: { readonly name: string; readonly bootId: string };
  readonly machine: MachineParts;
  readonly notices: Notices;
  readonly people: PeopleParts;
  /** Undefined where no cluster is configured. */
  readonly cluster: ClusterParts | undefined;
  readonly staticPods: StaticPodParts;
  /** The drain of this node by the drainer that is chosen in each pass. */
  readonly drain: DrainParts;
  readonly loop: LoopParts;
}
