import type { EvictionRequest } from '../api/eviction-request.ts';
import type { NodeMaintenance } from '../api/node-maintenance.ts';
import type { Node, Pod } from '../api/pod.ts';
import type { Clock } from '../host/clock.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ObjectCache } from '../kube/watch.ts';
import type { Log } from '../telemetry/log.ts';

/** What the controller's loops share: one client and one live copy of each resource. */
export interface ControllerContext {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly maintenances: ObjectCache<NodeMaintenance>;
  readonly requests: ObjectCache<EvictionRequest>;
  readonly pods: ObjectCache<Pod>;
  readonly nodes: ObjectCache<Node>;
}
