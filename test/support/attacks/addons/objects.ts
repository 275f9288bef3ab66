/** The add-ons of the scene: their accounts and policies, and Deployments that ask for surges. */
import path from 'node:path';
import { MAINTENANCE_REQUESTER, NODE_LABEL } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';
import {
  collectionPath,
  EVENTS,
  EVICTION_REQUESTS,
  objectPath,
  PODS,
  sendForObject,
} from '../../../../src/kube/resource.ts';
import type { ControlPlane } from '../../../control-plane/control-plane.ts';
import { withoutDeployments } from '../../commands/nodemaint.ts';
import { firstStatus, requestFor } from '../../rigs/admission.ts';

const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', '..', 'manifests');
/** The groups of every account of the product. */
export const ACCOUNT_GROUPS = [
  'system:serviceaccounts',
  'system:serviceaccounts:nodemaint-system',
  'system:authenticated',
];
export const SURGE_INTERCEPTOR = 'surge.nodemaintenance.x-k8s.io';
export const ASKS_FOR_SURGE = {
  [`interceptor.evictionrequest.coordination.k8s.io/priority_${SURGE_INTERCEPTOR}`]: '10000/controller',
};
/** The annotation, and the label, by which a Deployment is known to have added pods. */
export const SURGE_RECORD = 'nodemaintenance.x-k8s.io/surge';

/** The record of surges: the replicas without the added pods, and for which pods they were added. */
export function recordOf(replicas: number, ...uids: readonly string[]): string {
  return JSON.stringify({ replicas, pods: Object.fromEntries(uids.map((uid) => [uid, '2026-01-01T10:00:00Z'])) });
}

/** A Deployment that has no pods: it is paused from the first. */
function pausedDeployment(name: string, replicas: number, metadata: object, annotations: object): object {
  const labels = { app: name };
  const template = {
    metadata: { labels, annotations },
    spec: { containers: [{ name: 'main', image: 'none.invalid/none' }] },
  };
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, ...metadata },
    spec: { replicas, paused: true, selector: { matchLabels: labels }, template, strategy },
  };
}

/**
 * Installs the add-ons without their Deployments, and makes what their accounts may change. In the namespace `team`: the
 * Deployments `plain`, which asks for nothing, `asks`, and `surged`, which has one added pod beside its two.
 */
export async function installAddons(controlPlane: ControlPlane, team: string): Promise<void> {
  const { kubectl } = controlPlane;
  const manifests = await kubectl(['kustomize', path.join(MANIFESTS, 'surge')]);
  await kubectl(['apply', '-f', '-'], withoutDeployments(manifests));
  const record = { annotations: { [SURGE_RECORD]: recordOf(2, 'a') }, labels: { [SURGE_RECORD]: 'true' } };
  for (const deployment of [
    pausedDeployment('plain', 3, {}, {}),
    pausedDeployment('asks', 2, {}, ASKS_FOR_SURGE),
    pausedDeployment('surged', 3, record, ASKS_FOR_SURGE),
  ]) {
    await kubectl(['create', '-n', team, '-f', '-'], JSON.stringify(deployment));
  }
}

/** The pods whose eviction is asked for, on node n1: `surge-1` names the interceptor of surges; two requesters ask for `shared`. */
export type AddonPod = 'surge-1' | 'shared';

async function makeAddonPod(
  { admin, controller }: Readonly<Record<'admin' | 'controller', KubeClient>>,
  namespace: string,
  name: AddonPod,
): Promise<Pod> {
  const signal = AbortSignal.timeout(30_000);
  const isOfSurge = name === 'surge-1';
  const pod = await sendForObject<Pod>(
    admin,
    {
      method: 'POST',
      path: collectionPath(PODS, namespace),
      body: {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, annotations: isOfSurge ? ASKS_FOR_SURGE : {} },
        spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'none.invalid/none' }] },
      },
    },
    [],
    signal,
  );
  if (pod === undefined) throw new Error(name);
  const uid = pod.metadata.uid ?? '';
  const others = isOfSurge ? [] : [{ name: 'requester.example.com' }];
  const requesters = [{ name: MAINTENANCE_REQUESTER }, ...others];
  const body = requestFor(name, uid, { requesters }, { namespace, labels: { [NODE_LABEL]: 'n1' } });
  const path = collectionPath(EVICTION_REQUESTS, namespace);
  await sendForObject(admin, { method: 'POST', path, body }, [], signal);
  const first = isOfSurge ? SURGE_INTERCEPTOR : 'actor.example.com';
  const status = firstStatus([first, 'imperative-eviction.k8s.io']);
  const where = objectPath(EVICTION_REQUESTS, { name: uid, namespace }, 'status');
  const change = { method: 'PATCH', path: where, body: { status }, patch: { kind: 'merge' } } as const;
  await sendForObject(controller, change, [], signal);
  return pod;
}

/** Makes these pods with their EvictionRequests, and an Event that a kubelet has written. */
export async function makeAddonPods(
  clients: Readonly<Record<'admin' | 'controller', KubeClient>>,
  namespace: string,
): Promise<Record<AddonPod, Pod>> {
  const body = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'of-others' },
    involvedObject: { kind: 'Pod', namespace, name: 'web-1' },
    reportingComponent: 'kubelet',
  };
  const path = collectionPath(EVENTS, namespace);
  await sendForObject(clients.admin, { method: 'POST', path, body }, [], AbortSignal.timeout(30_000));
  return {
    'surge-1': await makeAddonPod(clients, namespace, 'surge-1'),
    shared: await makeAddonPod(clients, namespace, 'shared'),
  };
}
