import type { AgentConfig } from '../config/schema.ts';
import type { PhaseEvent } from '../decide/shutdown/events.ts';
import type { Clock } from '../host/clock.ts';
import type { ContainerRuntime } from '../host/cri/runtime.ts';
import type { StateFiles } from '../host/files/state-files.ts';
import type { Mover } from '../static-pods/mover.ts';
import type { DirectoryWatch } from '../static-pods/watch.ts';
import type { Log } from '../telemetry/log.ts';
import type { Cluster } from './cluster.ts';
import type { DrainStep } from './drain/drain.ts';
import type { KnownPods } from './drain/offline/known-pods.ts';
import type { OfflinePods } from './drain/offline/offline-pods.ts';
import type { Wakeup } from './iteration/wakeup.ts';
import type { Notices } from './notices/notices.ts';
import type { ShutdownDetector } from './shutdown/detector.ts';
import type { Hooks } from './shutdown/hooks.ts';
import type { LockReconciler } from './shutdown/lock.ts';
import type { OtherLocks } from './shutdown/other-locks.ts';
import type { StoryRecorder } from './shutdown/story-recorder.ts';
import type { StaticPodLocator } from './static-pods/find-directory.ts';
import type { ManualRequests } from './static-pods/manual.ts';
import type { MemberWatch } from './static-pods/member.ts';
import type { StaticPods } from './static-pods/static-pods.ts';

/** What the agent works with. What reads or does something for it takes those that it needs, by these names. */
export interface AgentParts {
  readonly config: AgentConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly bootId: string;
  /** The agent's files that outlive restarts and boots. */
  readonly state: StateFiles;
  readonly detector: ShutdownDetector;
  readonly lock: LockReconciler;
  readonly otherLocks: OtherLocks;
  readonly runtime: ContainerRuntime;
  readonly knownPods: KnownPods;
  /** The pods over the container runtime, where no API server answers. */
  readonly offlinePods: OfflinePods;
  readonly notices: Notices;
  /** Log, Event and terminals. Never waits, never throws. */
  readonly announce: (event: PhaseEvent) => void;
  /** Shows one line in `systemctl status nodemaint`. */
  readonly notify: (line: string) => Promise<void>;
  /** The administrator's programs. */
  readonly hooks: Hooks;
  /** Keeps what a shutdown did, for `nodemaint report`. */
  readonly story: StoryRecorder;
  /** Undefined where no cluster is configured. */
  readonly cluster: Cluster | undefined;
  readonly staticPods: StaticPods;
  /** This node as a member of the control plane. */
  readonly member: Pick<MemberWatch, 'look'>;
  /** What people asked for with `nodemaint static-pods`. */
  readonly manual: ManualRequests;
  /** The journal of moves, as far as the disk is concerned. */
  readonly journal: Pick<Mover, 'problem' | 'retry'>;
  /** On while manifests are parked, to notice at once a manifest that another program writes. */
  readonly directoryWatch: DirectoryWatch;
  readonly locator: Pick<StaticPodLocator, 'relocate' | 'warnings'>;
  /** The drain of this node by the drainer that is chosen in each pass. */
  readonly drain: DrainStep;
  readonly wakeup: Wakeup;
  /** Tells the watchdog that the loop does not hang. */
  readonly markProgress: () => void;
}
