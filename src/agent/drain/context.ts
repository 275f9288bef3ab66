import type { AgentConfig } from '../../config/schema.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { KubeletInterceptor } from '../static-pods/interceptor.ts';
import type { StaticPods } from '../static-pods/static-pods.ts';
import type { OfflinePods } from './offline/offline-pods.ts';
import type { SelfDrainer } from './self/self-drain.ts';

/** The parts of the agent that drain this node. Where no cluster is configured, those of the cluster are undefined. */
export interface DrainContext {
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly staticPods: Pick<StaticPods, 'stuck'>;
  /** Undefined where the kubelet cannot be stopped. */
  readonly offlinePods: OfflinePods | undefined;
  readonly cluster: Cluster | undefined;
  readonly client: KubeClient | undefined;
  readonly interceptor: KubeletInterceptor | undefined;
  readonly selfDrain: SelfDrainer | undefined;
}
