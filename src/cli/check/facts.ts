/** Reads what `nodemaint check` needs to know of a cluster. */
import { X509Certificate } from 'node:crypto';
import { CONTROLLER_NAMESPACE } from '../../api/lease.ts';
import { VERSION_ANNOTATION } from '../../api/names.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { controllerAlive, type LeaseObservation, observeLease } from '../../decide/controller-lease.ts';
import { couldTakeNow } from '../../decide/disruption-budget/placement.ts';
import { isOwnController } from '../../decide/own-controller.ts';
import { isTerminal } from '../../decide/pod.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { CONTROLLER_LEASE, readLease } from '../../kube/lease.ts';
import { refusal } from '../../kube/refusal.ts';
import { collectionPath, DISRUPTION_BUDGETS, NODES, objectPath, PODS, type Resource } from '../../kube/resource.ts';
import type {
  ClusterFacts,
  ControllerFact,
  Fact,
  ReplicaFacts,
  ResourceFact,
  WebhookFacts,
} from '../../show/checks/cluster-checks.ts';
import {
  INSTALLED_RESOURCES,
  type InstalledResource,
  NEEDED_RIGHTS,
  type NeededRight,
  RELEASE_ACCOUNT,
  type RightsFacts,
  rightsFacts,
  WEBHOOK_RIGHTS,
} from '../../show/checks/installed.ts';
import { buildVersion } from '../../version.ts';
import { readFleet } from '../cluster/fleet.ts';
import { readLeftOvers } from './left-overs.ts';
import { readPolicies, readPolicyObjects } from './policies.ts';

/** The name of the budget that an older version of the manifests had. */
const OLD_BUDGET = 'nodemaint-controller';

/** The object of a path; undefined where there is none. */
type Get = <T>(path: string) => Promise<T | undefined>;

/** Reads where the replicas of the controller can run. */
async function readReplicas(get: Get): Promise<ReplicaFacts> {
  const [pods, nodes, budget] = await Promise.all([
    get<{ readonly items?: readonly Pod[] }>(collectionPath(PODS, CONTROLLER_NAMESPACE)),
    get<{ readonly items?: readonly Node[] }>(collectionPath(NODES)),
    get(objectPath(DISRUPTION_BUDGETS, { namespace: CONTROLLER_NAMESPACE, name: OLD_BUDGET })),
  ]);
  const replicas = (pods?.items ?? []).filter((pod) => isOwnController(pod) && !isTerminal(pod));
  const running = new Set(replicas.flatMap(({ spec }) => spec.nodeName ?? []));
  const places = (nodes?.items ?? []).filter(
    (node) => running.has(node.metadata.name) || replicas.some((pod) => couldTakeNow(node, pod)),
  );
  return {
    pods: replicas.length,
    places: places.map(({ metadata }) => metadata.name).toSorted(),
    hasOldBudget: budget !== undefined,
  };
}

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const SLICES: Resource = { root: '/apis/discovery.k8s.io/v1', plural: 'endpointslices', namespaced: true };
const LEASE_POLL_MS = 500;

/** Thrown where the person may not read something. */
class Forbidden extends Error {}

/** The object of a path; undefined where there is none. */
async function get<T>(client: KubeClient, path: string, signal: AbortSignal): Promise<T | undefined> {
  const response = await client.send({ method: 'GET', path }, signal);
  if (response.status === 404) return undefined;
  if (response.status === 403) throw new Forbidden(refusal(response).message);
  if (response.status !== 200) throw refusal(response);
  return response.body as T;
}

async function factOf<T>(reading: Promise<T>, signal: AbortSignal): Promise<Fact<T>> {
  try {
    return { kind: 'known', value: await reading };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NodemaintError && error.code === 'API_UNREACHABLE') throw error;
    return { kind: error instanceof Forbidden ? 'forbidden' : 'failed', why: describeError(error) };
  }
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Crd {
  readonly spec?: {
    readonly versions?: readonly {
      readonly name: string;
      readonly served?: boolean;
      readonly schema?: { readonly openAPIV3Schema?: Schema };
    }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

function hasField(schema: Schema | undefined, field: string): boolean {
  let at = schema;
  for (const part of field.split('.')) at = at?.properties?.[part];
  return at !== undefined;
}

async function readResource(
  client: KubeClient,
  { crd, version, fields }: InstalledResource,
  signal: AbortSignal,
): Promise<ResourceFact> {
  const found = await get<Crd>(client, `${CRDS}/${crd}`, signal);
  if (found === undefined) return { crd, state: 'missing', fields: [] };
  const served = found.spec?.versions?.find(({ name, served: isServed }) => name === version && isServed === true);
  const isEstablished = found.status?.conditions?.some(
    ({ type, status }) => type === 'Established' && status === 'True',
  );
  if (served === undefined || isEstablished !== true) return { crd, state: 'not-served', fields: [] };
  const missing = fields.filter((field) => !hasField(served.schema?.openAPIV3Schema, field));
  return { crd, state: missing.length === 0 ? 'right' : 'older', fields: missing };
}

const WEBHOOK_CONFIGURATION = `${REGISTRATION}/validatingwebhookconfigurations/nodemaint-webhook`;

const ACCOUNT_GROUPS = ['system:serviceaccounts', 'system:serviceaccounts:nodemaint-system', 'system:authenticated'];
const IDENTITIES = {
  // The policies, not RBAC, restrict a node to itself: any name of a node will do.
  agents: { user: 'system:node:nodemaint-check', groups: ['system:nodes', 'system:authenticated'] },
  controller: { user: 'system:serviceaccount:nodemaint-system:nodemaint-controller', groups: ACCOUNT_GROUPS },
  release: { user: 'system:serviceaccount:nodemaint-system:nodemaint-agent-release', groups: ACCOUNT_GROUPS },
} as const;

const RELEASE_OBJECTS = [
  `/api/v1/namespaces/nodemaint-system/serviceaccounts/${RELEASE_ACCOUNT}`,
  `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${RELEASE_ACCOUNT}`,
];

/** Whether the identity has the right, by a SubjectAccessReview, which stores nothing. */
async function hasRight(
  client: KubeClient,
  { who, ...attributes }: NeededRight,
  signal: AbortSignal,
): Promise<boolean> {
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { ...IDENTITIES[who], resourceAttributes: attributes },
  };
  const response = await client.send({ method: 'POST', path: REVIEWS, body }, signal);
  if (response.status === 403) throw new Forbidden(refusal(response).message);
  if (response.status !== 201) throw refusal(response);
  return (response.body as { status?: { allowed?: boolean } }).status?.allowed === true;
}

async function readRights(client: KubeClient, signal: AbortSignal): Promise<RightsFacts> {
  const hasWebhook = (await get(client, WEBHOOK_CONFIGURATION, signal)) !== undefined;
  const needed = [...NEEDED_RIGHTS, ...(hasWebhook ? WEBHOOK_RIGHTS : [])];
  const [allowed, releaseObjects] = await Promise.all([
    Promise.all(needed.map((right) => hasRight(client, right, signal))),
    Promise.all(RELEASE_OBJECTS.map((path) => get(client, path, signal))),
  ]);
  return rightsFacts(
    needed.filter((_right, place) => allowed[place] !== true),
    releaseObjects.map((object) => object !== undefined),
  );
}

/** Observes the Lease until it changes, or has not for so long that its holder does not live. */
async function readController(client: KubeClient, clock: Clock, signal: AbortSignal): Promise<ControllerFact> {
  let observation: LeaseObservation | undefined;
  for (;;) {
    const lease = await readLease(client, CONTROLLER_LEASE, signal);
    if (lease === undefined) return { state: 'missing', holder: '', version: '' };
    observation = observeLease(observation, lease, clock.monotonic());
    const state = controllerAlive(observation, clock.monotonic());
    const version = lease.metadata.annotations?.[VERSION_ANNOTATION] ?? '';
    if (state !== 'unknown') return { state, holder: lease.spec?.holderIdentity ?? '', version };
    await clock.sleep(LEASE_POLL_MS, signal);
  }
}

interface WebhookConfiguration {
  readonly webhooks?: readonly { readonly clientConfig?: { readonly caBundle?: string } }[];
}

interface EndpointSlices {
  /** A slice without endpoints has null in their place. */
  readonly items?: readonly {
    readonly endpoints?: readonly { readonly conditions?: { readonly ready?: boolean } }[] | null;
  }[];
}

/** When the certificate expires; undefined for what is no certificate. */
function expiryOf(bundle: string | undefined): number | undefined {
  try {
    return new X509Certificate(Buffer.from(bundle ?? '', 'base64')).validToDate.getTime();
  } catch {
    return undefined;
  }
}

async function readWebhook(client: KubeClient, signal: AbortSignal): Promise<WebhookFacts> {
  const query = new URLSearchParams({ labelSelector: 'kubernetes.io/service-name=nodemaint-webhook' }).toString();
  const [configuration, slices] = await Promise.all([
    get<WebhookConfiguration>(client, WEBHOOK_CONFIGURATION, signal),
    get<EndpointSlices>(client, `${collectionPath(SLICES, 'nodemaint-system')}?${query}`, signal),
  ]);
  const expiries = (configuration?.webhooks ?? []).map(({ clientConfig }) => expiryOf(clientConfig?.caBundle));
  const ready = (slices?.items ?? [])
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false);
  return {
    isConfigured: configuration !== undefined,
    caUntil: expiries.every((at) => at !== undefined) && expiries.length > 0 ? Math.min(...expiries) : undefined,
    endpoints: ready.length,
  };
}

/** Reads everything, and of the nodes those that the selector matches, '' for all. Throws API_UNREACHABLE; what cannot be read otherwise is part of the facts. */
export async function readClusterFacts(
  client: KubeClient,
  { clock, selector }: { readonly clock: Clock; readonly selector: string },
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const now = clock.now();
  const resources = Promise.all(INSTALLED_RESOURCES.map((resource) => readResource(client, resource, signal)));
  const reading = <T>(path: string): Promise<T | undefined> => get<T>(client, path, signal);
  const objects = readPolicyObjects(reading);
  const [resourceFacts, policies, rights, controller, replicas, webhook, nodes, leftOvers] = await Promise.all([
    factOf(resources, signal),
    factOf(objects.then(readPolicies), signal),
    factOf(readRights(client, signal), signal),
    factOf(readController(client, clock, signal), signal),
    factOf(readReplicas(reading), signal),
    factOf(readWebhook(client, signal), signal),
    factOf(
      readFleet(client, selector, now, signal).then((fleet) => fleet.nodes),
      signal,
    ),
    factOf(readLeftOvers(reading), signal),
  ]);
  return {
    now,
    version: buildVersion(),
    resources: resourceFacts,
    policies,
    rights,
    controller,
    replicas,
    webhook,
    nodes,
    leftOvers,
  };
}
