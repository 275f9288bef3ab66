import type { EvictionRequest } from '../../api/eviction-request.ts';
import { isActiveInterceptor } from '../../kube/eviction/interceptor.ts';
import { createWorkQueue } from '../../kube/queue.ts';
import { EVICTION_REQUESTS, keyOf, objectPath, sendForObject } from '../../kube/resource.ts';
import { createObjectCache } from '../../kube/watch.ts';
import { surgeRecordOf, withoutPod } from './decide/record.ts';
import { type Deployment, DEPLOYMENTS } from './api/deployment.ts';
import { changeDeployment } from './interceptor.ts';
import type { ServiceDependencies } from '../../kube/service/service.ts';
import { SURGE_INTERCEPTOR, SURGE_LABEL } from './api/names.ts';

/** How often a Deployment that is larger than it was is looked at, though nothing of it changes. */
const AGAIN_MS = 30_000;

/** Scales Deployments back whose pods are not asked to leave any more. */
export interface LeftOvers {
  /** Looks at all Deployments that are larger than they were. */
  look(): void;
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Watches the Deployments to which pods were added. A request may be withdrawn, the interceptor may become inactive, its pod may die, and this
 * program may be restarted in between: what was added is given back in each case.
 */
export function createLeftOvers(dependencies: ServiceDependencies): LeftOvers {
  const { client } = dependencies;
  /** The pod of the Deployment that is not asked by this interceptor to leave, if there is one. */
  const findOver = async (deployment: Deployment, signal: AbortSignal): Promise<string | undefined> => {
    for (const uid of surgeRecordOf(deployment)?.pods.keys() ?? []) {
      const path = objectPath(EVICTION_REQUESTS, { name: uid, namespace: deployment.metadata.namespace ?? 'default' });
      const request = await sendForObject<EvictionRequest>(client, { method: 'GET', path }, [404], signal);
      if (request === undefined || !isActiveInterceptor(request, SURGE_INTERCEPTOR)) return uid;
    }
    return undefined;
  };

  const queue = createWorkQueue(
    'surge-left-overs',
    async (key, signal) => {
      const deployment = deployments.get(key);
      if (deployment === undefined) return {};
      const uid = await findOver(deployment, signal);
      const change = uid === undefined ? undefined : withoutPod(deployment, uid);
      if (change === undefined) return { againMs: AGAIN_MS };
      // Its next event brings it back, also for what is left.
      await changeDeployment(dependencies, deployment, change, signal);
      return {};
    },
    1,
    dependencies,
  );
  const deployments = createObjectCache<Deployment>(
    { resource: DEPLOYMENTS, labelSelector: SURGE_LABEL },
    (key) => {
      queue.add(key);
    },
    dependencies,
  );
  return {
    look: () => {
      for (const deployment of deployments.list()) queue.add(keyOf(deployment));
    },
    run: async (signal) => {
      await Promise.all([deployments.run(signal), queue.run(signal)]);
    },
  };
}
