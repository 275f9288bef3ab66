/** The module `node-maintenance-agent/interceptor`: what an interceptor outside this program is made of. */
export type { EvictionRequest } from './api/eviction-request.ts';
export type { KubeObject } from './api/meta.ts';
export type { Pod } from './api/pod.ts';
export { createSystemClock } from './host/clock.ts';
export { createKubeClient, type KubeClient } from './kube/client.ts';
export { loadClusterAccess } from './kube/access/cluster.ts';
export type { Interceptor, InterceptorStep } from './kube/eviction/interceptor.ts';
export { runInterceptor } from './kube/eviction/interceptor-loop.ts';
export { createLog } from './telemetry/log.ts';
