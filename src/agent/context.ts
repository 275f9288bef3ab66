import type { AgentConfig } from '../config/schema.ts';
import type { Clock } from '../host/clock.ts';
import type { ContainerRuntime } from '../host/cri/runtime.ts';
import type { StateFiles } from '../host/files/state-files.ts';
import type { PhaseEvent } from '../decide/shutdown/events.ts';
import type { Log } from '../telemetry/log.ts';
import type { ManualRequests } from './static-pods/manual.ts';
import type { Cluster } from './cluster/cluster.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KnownPods } from './drain/offline/known-pods.ts';
import type { OfflinePods } from './drain/offline/offline-pods.ts';
import type { ShutdownDetector } from './shutdown/detector.ts';
import type { LockKeeping } from './shutdown/lock.ts';
import type { Hooks } from './shutdown/hooks.ts';
import type { KubeletInterceptor } from './static-pods/interceptor.ts';
import type { OtherLocks } from './shutdown/other-locks.ts';
import type { Notices } from './notices/notices.ts';
import type { OverduePods } from './drain/overdue-pods.ts';
import type { DrainParts } from './drain/parts.ts';
import type { Mover } from '../static-pods/mover.ts';
import type { DirectoryWatch } from '../static-pods/watch.ts';
import type { StaticPods } from './static-pods/static-pods.ts';
import type { Wakeup } from './wakeup.ts';

/** The parts that the agent's loop works with. */
export interface AgentContext {
  readonly config: AgentConfig;
  /** What the agent remembers over restarts and boots. */
  readonly state: StateFiles;
  /** The journal of moves, as far as the disk is concerned. */
  readonly journal: Pick<Mover, 'problem' | 'retry'>;
  readonly nodeName: string;
  readonly bootId: string;
  readonly server: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly wakeup: Wakeup;
  readonly hold: LockKeeping;
  readonly otherLocks: OtherLocks;
  readonly detector: ShutdownDetector;
  readonly notices: Notices;
  readonly hooks: Hooks;
  /** Absent where no cluster is configured. */
  readonly cluster: Cluster | undefined;
  /** Absent where no cluster is configured. */
  readonly interceptor: KubeletInterceptor | undefined;
  /** The drain of this node, whoever drains it. */
  readonly drain: DrainParts;
  /** Absent where no cluster is configured. */
  readonly overduePods: OverduePods | undefined;
  /** Absent where no cluster is configured. */
  readonly client: KubeClient | undefined;
  /** The drain of all pods without an API server; absent where the kubelet cannot be stopped. */
  readonly offlinePods: OfflinePods | undefined;
  readonly knownPods: KnownPods;
  readonly runtime: ContainerRuntime;
  readonly staticPods: StaticPods;
  /** What people asked for with `nodemaint static-pods`. */
  readonly manualRequests: ManualRequests;
  /** Looks again for the static pod directory: the kubelet may have been restarted with another. */
  locateStaticPods(signal: AbortSignal): Promise<void>;
  /** On while manifests are parked, to see at once when somebody writes one again. */
  readonly directoryWatch: DirectoryWatch;
  /** What is wrong with the set-up of this node, for people. */
  warnings(): readonly string[];
  /** Tells systemd the state in one line. */
  notify(status: string): Promise<void>;
  /** Tells people: log, Event, terminals. Never waits, never fails. */
  announce(news: PhaseEvent): void;
  /** The loop got somewhere: it begins a turn, or waits. */
  alive(): void;
}
