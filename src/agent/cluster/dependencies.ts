import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Log } from '../../telemetry/log.ts';

/** What the watches and the writers of one node's cluster are made from. */
export interface ClusterDependencies {
  readonly client: KubeClient;
  /** Its wall time is the API server's: it is compared with times of the cluster, and written there. */
  readonly clock: Clock;
  /** How far that is ahead of this machine's wall time; absent where both are one. */
  readonly aheadMs?: () => number;
  readonly log: Log;
  readonly nodeName: string;
  /** Called when a watch has shown a change that the agent acts upon. */
  readonly onChange: () => void;
  /** Whether the API server's address is this machine's; only tests set it. */
  readonly isOwn?: (server: URL, signal: AbortSignal) => Promise<boolean>;
}
