/** Reads what `nodemaint check` needs to know of a cluster. */
import { createHash, X509Certificate } from 'node:crypto';
import { CONTROLLER_NAMESPACE, VERSION_ANNOTATION } from '../../api/names.ts';
import type { KubeObject } from '../../api/meta.ts';
import { controllerAlive, type LeaseObservation, observeLease } from '../../decide/leader/lease.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { CONTROLLER_LEASE, readLease } from '../../kube/lease.ts';
import { refusal } from '../../kube/refusal.ts';
import { collectionPath, type Resource } from '../../kube/resource.ts';
import type {
  ClusterFacts,
  ControllerFact,
  Fact,
  ResourceFact,
  WebhookFacts,
} from '../../show/checks/cluster-checks.ts';
import {
  type Bound,
  INSTALLED_RESOURCES,
  type InstalledResource,
  type PolicyFacts,
  policyFacts,
  type RightsFacts,
  rightsFacts,
  ROLES,
  withBinding,
} from '../../show/checks/installed.ts';
import { LEFT_OVER_PLACES, leftOversOf } from '../../show/checks/left-overs.ts';
import { buildVersion } from '../../version.ts';
import { readFleet } from '../cluster/fleet.ts';

/** The object of a path; undefined where there is none. */
type Get = <T>(path: string) => Promise<T | undefined>;

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const SLICES: Resource = { root: '/apis/discovery.k8s.io/v1', plural: 'endpointslices', namespaced: true };
const LEASE_POLL_MS = 500;

/** The object of a path; undefined where there is none. */
async function get<T>(client: KubeClient, path: string, signal: AbortSignal): Promise<T | undefined> {
  const response = await client.send({ method: 'GET', path }, signal);
  if (response.status === 404) return undefined;
  if (response.status !== 200) throw refusal(response);
  return response.body as T;
}

async function factOf<T>(reading: Promise<T>, signal: AbortSignal): Promise<Fact<T>> {
  try {
    return { kind: 'known', value: await reading };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NodemaintError && error.code === 'API_UNREACHABLE') throw error;
    const isForbidden = error instanceof NodemaintError && error.status === 403;
    return { kind: isForbidden ? 'forbidden' : 'failed', why: describeError(error) };
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

async function readResource(get: Get, { crd, version, fields }: InstalledResource): Promise<ResourceFact> {
  const found = await get<Crd>(`${CRDS}/${crd}`);
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

/** The specifications of the objects of a list, by their names; none of a kind that the API server does not have. */
async function specsIn(get: Get, path: string): Promise<ReadonlyMap<string, unknown>> {
  const list = await get<{ readonly items?: readonly (KubeObject & { readonly spec?: unknown })[] }>(path);
  return new Map((list?.items ?? []).map(({ metadata, spec }) => [metadata.name, spec]));
}

/** What the API server writes into a policy where its manifest says nothing. */
const DEFAULTS: ReadonlyMap<string, string> = new Map([
  ['matchPolicy', '"Equivalent"'],
  ['namespaceSelector', '{}'],
  ['objectSelector', '{}'],
  ['scope', '"*"'],
]);

/** A hash of all that a policy and its binding say, by their specifications; kustomize breaks lines of expressions anew. */
export function saidBy(policy: unknown, binding: unknown): string {
  const plain = (_key: string, value: unknown): unknown => {
    if (typeof value === 'string') return value.replaceAll(/\s+/g, ' ');
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const said = Object.entries(value).filter(([key, each]) => JSON.stringify(each) !== DEFAULTS.get(key));
    return Object.fromEntries(said.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  };
  return createHash('sha256')
    .update(JSON.stringify([policy, binding], plain))
    .digest('base64url');
}

/** Reads which policies there are, and what they say. */
export async function readPolicies(get: Get): Promise<PolicyFacts> {
  const found = async (kind: string): Promise<ReadonlyMap<string, string>> => {
    const policies = await specsIn(get, `${REGISTRATION}/${kind}policies`);
    const bindings = await specsIn(get, `${REGISTRATION}/${kind}policybindings`);
    const said = (name: string, policy: unknown): string =>
      bindings.has(name) ? saidBy(policy, bindings.get(name)) : '';
    return new Map([...policies].map(([name, policy]) => [name, said(name, policy)]));
  };
  return policyFacts(await found('validatingadmission'), await found('mutatingadmission'));
}

async function readRights(get: Get): Promise<RightsFacts> {
  const paths = ROLES.flatMap(({ roles }) => roles).flatMap(withBinding);
  const found = await Promise.all(paths.map(async (path) => [path, await get<Bound>(`${RBAC}/${path}`)] as const));
  return rightsFacts(new Map(found.filter((each): each is [string, Bound] => each[1] !== undefined)));
}

/** Names what is left in the cluster of versions before this one, as RESOURCE/NAME, each once. */
export async function readLeftOvers(get: Get): Promise<readonly string[]> {
  const found = await Promise.all(
    LEFT_OVER_PLACES.map(async (place) => leftOversOf(place, (await specsIn(get, place.path)).keys())),
  );
  return [...new Set(found.flat())];
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

async function readWebhook(get: Get): Promise<WebhookFacts> {
  const query = new URLSearchParams({ labelSelector: 'kubernetes.io/service-name=nodemaint-webhook' }).toString();
  const [configuration, slices] = await Promise.all([
    get<WebhookConfiguration>(WEBHOOK_CONFIGURATION),
    get<EndpointSlices>(`${collectionPath(SLICES, CONTROLLER_NAMESPACE)}?${query}`),
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
  const reading = <T>(path: string): Promise<T | undefined> => get<T>(client, path, signal);
  const fleet = readFleet(client, selector, now, signal).then((known) => known.nodes);
  const [resources, policies, rights, controller, webhook, nodes, leftOvers] = await Promise.all([
    factOf(Promise.all(INSTALLED_RESOURCES.map((resource) => readResource(reading, resource))), signal),
    factOf(readPolicies(reading), signal),
    factOf(readRights(reading), signal),
    factOf(readController(client, clock, signal), signal),
    factOf(readWebhook(reading), signal),
    factOf(fleet, signal),
    factOf(readLeftOvers(reading), signal),
  ]);
  return { now, version: buildVersion(), resources, policies, rights, controller, webhook, nodes, leftOvers };
}
