import assert from 'node:assert/strict';
import type { EvictionRequest, EvictionRequestStatus } from '../../../src/api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION } from '../../../src/api/names.ts';
import { createKubeClient, type KubeClient, type KubeRequest, type KubeResponse } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { collectionPath, EVICTION_REQUESTS, objectPath } from '../../../src/kube/resource.ts';
import { statusMessage } from '../../../src/kube/request.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { waitFor } from '../wait-for.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';

/** A rule of RBAC. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Lets an interceptor report, and nothing else. */
export const MAY_REPORT: Rule = {
  apiGroups: ['coordination.x-k8s.io'],
  resources: ['evictionrequests/status'],
  verbs: ['patch'],
};
/** Everything about EvictionRequests but their status. */
export const MAY_REQUEST: Rule = {
  apiGroups: ['coordination.x-k8s.io'],
  resources: ['evictionrequests'],
  verbs: ['get', 'list', 'create', 'update', 'patch', 'delete', 'deletecollection'],
};

/** A real API server with the product's manifests, and users with rights of every size. */
export interface AdmissionRig extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  /** As cluster admin. */
  readonly admin: KubeClient;
  /** As the product's controller, with the rights that its manifests give it. */
  readonly controller: KubeClient;
  /** Makes a user with these rights in every namespace. */
  user(name: string, rules: readonly Rule[], groups?: readonly string[]): Promise<KubeClient>;
}

function inTime(): AbortSignal {
  return AbortSignal.timeout(60_000);
}

/** Sends a request, whatever the answer. */
export async function send(client: KubeClient, request: KubeRequest): Promise<KubeResponse> {
  return await client.send(request, inTime());
}

/** The request for a pod, asked for by one requester. */
export function requestFor(pod: string, uid: string, spec: object = {}, metadata: object = {}): object {
  return {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: uid, namespace: 'default', ...metadata },
    spec: { target: { pod: { name: pod, uid } }, requesters: [{ name: 'drainer.example.com' }], ...spec },
  };
}

/** Creates an object of EvictionRequest. */
export async function create(client: KubeClient, body: object, namespace = 'default'): Promise<KubeResponse> {
  return await send(client, { method: 'POST', path: collectionPath(EVICTION_REQUESTS, namespace), body });
}

/** The path of a request in the namespace default. */
export function pathOf(name: string, subresource?: string): string {
  return objectPath(EVICTION_REQUESTS, { name, namespace: 'default' }, subresource);
}

/** Writes a part of the status by merge patch; null takes a field away. */
export async function patchStatus(client: KubeClient, name: string, status: object | null): Promise<KubeResponse> {
  const body = { status };
  return await send(client, { method: 'PATCH', path: pathOf(name, 'status'), body, patch: { kind: 'merge' } });
}

/** Reports as an interceptor does: its own entry, by server-side apply. */
export async function report(
  client: KubeClient,
  name: string,
  entry: Readonly<Record<string, string>>,
  manager = entry['name'] ?? 'test',
): Promise<KubeResponse> {
  const body = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name, namespace: 'default' },
    status: { interceptors: [{ message: '', ...entry }] },
  };
  return await send(client, { method: 'PATCH', path: pathOf(name, 'status'), body, patch: { kind: 'apply', manager } });
}

/** Reads a request of the namespace default. */
export async function read(client: KubeClient, name: string): Promise<EvictionRequest> {
  const response = await send(client, { method: 'GET', path: pathOf(name) });
  assertAllowed(response);
  return response.body as EvictionRequest;
}

/** The first status that the EvictionRequest controller writes. */
export function firstStatus(names: readonly string[]): EvictionRequestStatus {
  return {
    observedGeneration: 1,
    targetInterceptors: names.map((name) => ({ name })),
    activeInterceptors: names.slice(0, 1),
    processedInterceptors: [],
    interceptors: names.map((name) => ({ name, message: '' })),
    conditions: [conditionWith('Progressing', 'True')],
  };
}

/** A condition that holds or does not. */
export function conditionWith(
  type: string,
  status: 'True' | 'False',
  lastTransitionTime = '2026-01-01T10:00:00Z',
): { type: string; status: 'True' | 'False'; reason: string; message: string; lastTransitionTime: string } {
  return { type, status, reason: 'Test', message: '', lastTransitionTime };
}

/** Makes a request and gives it its first status. */
export async function started(rig: AdmissionRig, names: readonly string[], metadata: object = {}): Promise<string> {
  const uid = crypto.randomUUID();
  assertAllowed(await create(rig.admin, requestFor('web', uid, {}, metadata)));
  assertAllowed(await patchStatus(rig.controller, uid, firstStatus(names)));
  return uid;
}

/** Fails unless the server carried it out. */
export function assertAllowed(response: KubeResponse): void {
  assert.ok(response.status >= 200 && response.status < 300, `${response.status}: ${statusMessage(response)}`);
}

/**
 * Fails unless the server refused it with these words. Where several policies refuse, the API server tells the message of any one
 * of them, and of another one the next time: such a test gives the words of each.
 */
export function assertRefused(response: KubeResponse, ...anyOf: readonly [RegExp, ...RegExp[]]): void {
  assert.ok(response.status === 403 || response.status === 422, `${response.status}: ${statusMessage(response)}`);
  assert.match(statusMessage(response), new RegExp(anyOf.map(({ source }) => `(?:${source})`).join('|'), 'u'));
}

/** Whether the authorizer knows a right already, which it reads from a copy that lags. */
async function may(client: KubeClient, { apiGroups, resources, verbs, resourceNames }: Rule): Promise<boolean> {
  const [resource = '', subresource = ''] = (resources[0] ?? '').split('/');
  const wanted = { group: apiGroups[0], resource, subresource, verb: verbs[0], name: resourceNames?.[0] };
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { namespace: 'default', ...wanted } },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const response = await send(client, { method: 'POST', path, body });
  return (response.body as { status?: { allowed?: boolean } }).status?.allowed === true;
}

/** Starts the API server, installs the manifests, and waits until the policies are in force. */
export async function buildAdmissionRig(): Promise<AdmissionRig> {
  await using stack = new AsyncDisposableStack();
  const { controlPlane, controllerKubeconfig } = stack.use(
    await startInstalledCluster({}, AbortSignal.timeout(120_000)),
  );
  const clients: KubeClient[] = [];
  stack.defer(() => {
    for (const client of clients) client.close();
  });
  const clientOf = async (kubeconfig: string): Promise<KubeClient> => {
    const client = createKubeClient(await loadClusterAccess(kubeconfig), 'test');
    clients.push(client);
    return client;
  };
  const admin = await clientOf(controlPlane.adminKubeconfig);
  const controller = await clientOf(controllerKubeconfig);
  const user: AdmissionRig['user'] = async (name, rules, groups = []) => {
    const roleName = `test-${crypto.randomUUID()}`;
    const api = 'rbac.authorization.k8s.io';
    const role = { apiVersion: `${api}/v1`, kind: 'ClusterRole', metadata: { name: roleName }, rules };
    const binding = {
      apiVersion: `${api}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: roleName },
      roleRef: { apiGroup: api, kind: 'ClusterRole', name: roleName },
      subjects: [{ apiGroup: api, kind: 'User', name }],
    };
    for (const object of [role, binding]) await controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(object));
    const client = await clientOf(await controlPlane.kubeconfigFor(name, groups));
    for (const rule of rules) await waitFor(`${name} may ${rule.verbs.join()}`, () => may(client, rule));
    return client;
  };
  const probe = await user('probe', [MAY_REPORT, MAY_REQUEST]);
  assertAllowed(await create(admin, requestFor('probe', 'probe')));
  await waitFor('the policies are in force', async () => {
    const answers = [
      await create(probe, requestFor('probe', crypto.randomUUID())),
      await patchStatus(probe, 'probe', { observedGeneration: 1 }),
    ];
    return answers.every((answer) => /ValidatingAdmissionPolicy/u.test(statusMessage(answer)));
  });
  const owned = stack.move();
  return { controlPlane, admin, controller, user, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Makes a request for a pod of the name web, without a status; returns its name. */
export async function createRequest(rig: AdmissionRig): Promise<string> {
  const name = crypto.randomUUID();
  assertAllowed(await create(rig.admin, requestFor('web', name)));
  return name;
}
