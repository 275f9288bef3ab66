import type { AgentConfig } from '../config/schema.ts';
import type { Clock } from '../host/clock.ts';
import type { ContainerRuntime } from '../host/cri.ts';
import type { ShutdownLock } from '../host/inhibitor.ts';
import type { Log } from '../telemetry/log.ts';
import type { Cluster } from './cluster.ts';
import type { GoingDown } from './going-down.ts';
import type { Hooks } from './hooks.ts';
import type { Notices } from './notices.ts';
import type { DirectoryWatch } from '../static-pods/watch.ts';
import type { StaticPods } from './static-pods.ts';
import type { Waker } from './waker.ts';

/** The parts that the agent's loop works with. */
export interface AgentContext {
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly bootId: string;
  readonly server: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly waker: Waker;
  readonly lock: ShutdownLock;
  readonly goingDown: GoingDown;
  readonly notices: Notices;
  readonly hooks: Hooks;
  /** Absent where no cluster is configured. */
  readonly cluster: Cluster | undefined;
  readonly runtime: ContainerRuntime;
  readonly staticPods: StaticPods;
  /** On while manifests are parked, to see at once when somebody writes one again. */
  readonly directoryWatch: DirectoryWatch;
  /** Tells systemd the phase. */
  notify(status: string): Promise<void>;
}
