import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { Pod } from '../../api/pod.ts';
import type { ServiceDependencies } from '../../kube/service/service.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Interceptor, InterceptorStep } from '../../kube/eviction/interceptor.ts';
import { keyOf, objectPath, PODS, type Resource, sendForObject } from '../../kube/resource.ts';
import { deletionCostPatch, type SurgeChange, surgePatch } from './decide/record.ts';
import { decideSurge } from './decide/surge.ts';
import { type Deployment, DEPLOYMENTS, REPLICA_SETS } from './api/deployment.ts';
import { SURGE_INTERCEPTOR } from './api/names.ts';

/** How often it is looked whether the other pod is available. */
const POLL_MS = 2_000;

/** Writes the change. Returns false where the Deployment has changed meanwhile, or is gone. */
export async function changeDeployment(
  { client, log }: ServiceDependencies,
  deployment: Deployment,
  change: SurgeChange,
  signal: AbortSignal,
): Promise<boolean> {
  const path = objectPath(DEPLOYMENTS, deployment.metadata);
  const body = surgePatch(deployment, change);
  const request = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
  const done = (await sendForObject(client, request, [404, 409], signal)) !== undefined;
  if (done) log.info({ deployment: keyOf(deployment), replicas: change.replicas }, 'scaled the Deployment');
  return done;
}

/** The object that controls this one; undefined where none of that kind does, or where it is another object by now. */
async function controllerOf<T extends KubeObject>(
  client: KubeClient,
  { metadata }: KubeObject,
  { resource, kind }: { readonly resource: Resource; readonly kind: string },
  signal: AbortSignal,
): Promise<T | undefined> {
  const owner = metadata.ownerReferences?.find((each) => each.controller === true);
  if (owner?.kind !== kind || owner.apiVersion !== 'apps/v1') return undefined;
  const path = objectPath(resource, { name: owner.name, namespace: metadata.namespace ?? 'default' });
  const found = await sendForObject<T>(client, { method: 'GET', path }, [404], signal);
  return found?.metadata.uid === owner.uid ? found : undefined;
}

/** Lets the ReplicaSet choose the pod when it is scaled down, or no longer. */
async function markPod(client: KubeClient, pod: Pod, isFirst: boolean, signal: AbortSignal): Promise<void> {
  const body = deletionCostPatch(pod, isFirst);
  if (body === undefined) return;
  const request = { method: 'PATCH', path: objectPath(PODS, pod.metadata), body, patch: { kind: 'merge' } } as const;
  await sendForObject(client, request, [404, 409], signal);
}

/**
 * The interceptor of pods of Deployments that name it: the Deployment gets another pod first, and is scaled back when that
 * pod is available, so that its ReplicaSet deletes the one that is to leave (KEP-4563, "Pod Surge Example"). `onOver` is
 * called when a request is over, whose pod may have left the Deployment one too large.
 */
export function createSurgeInterceptor(
  dependencies: ServiceDependencies,
  timeoutMs: number,
  onOver: () => void,
): Interceptor {
  const { client, clock } = dependencies;
  const deploymentOf = async (pod: Pod, signal: AbortSignal): Promise<Deployment | undefined> => {
    const replicaSet = await controllerOf(client, pod, { resource: REPLICA_SETS, kind: 'ReplicaSet' }, signal);
    if (replicaSet === undefined) return undefined;
    return await controllerOf(client, replicaSet, { resource: DEPLOYMENTS, kind: 'Deployment' }, signal);
  };

  const act = async (pod: Pod, signal: AbortSignal): Promise<InterceptorStep> => {
    const deployment = await deploymentOf(pod, signal);
    if (deployment === undefined) return { kind: 'completed', message: 'The pod belongs to no Deployment.' };
    const step = decideSurge(deployment, pod, clock.now(), timeoutMs);
    const { message } = step;
    if (step.kind === 'wait') return { kind: 'working', message, againMs: POLL_MS };
    if (step.kind === 'replace') await markPod(client, pod, true, signal);
    const isDone = step.change === undefined || (await changeDeployment(dependencies, deployment, step.change, signal));
    if (step.kind === 'add' || !isDone) return { kind: 'working', message, againMs: POLL_MS };
    return { kind: 'completed', message };
  };

  const over = async ({ metadata, spec, status }: EvictionRequest, signal: AbortSignal): Promise<void> => {
    if (status?.targetInterceptors?.some(({ name }) => name === SURGE_INTERCEPTOR) !== true) return;
    onOver();
    const { name, uid } = spec.target.pod;
    const path = objectPath(PODS, { name, namespace: metadata.namespace ?? 'default' });
    const pod = await sendForObject<Pod>(client, { method: 'GET', path }, [404], signal);
    // A request that was called off: the pod stays, and is no worse than the others.
    if (pod?.metadata.uid === uid && pod.metadata.deletionTimestamp === undefined)
      await markPod(client, pod, false, signal);
  };

  return { name: SURGE_INTERCEPTOR, act: (_request, pod, signal) => act(pod, signal), over };
}
