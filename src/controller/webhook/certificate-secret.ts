import { CONTROLLER_NAMESPACE } from '../../api/names.ts';
import type { KubeObject } from '../../api/meta.ts';
import { NodemaintError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { collectionPath, objectPath, type Resource } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import {
  hostsOf,
  renewalReason,
  type ServingCertificate,
  trustedAuthorities,
  unusableReason,
} from '../../kube/certificate/renewal.ts';
import { BACKDATED_MS, issueServingCertificate, LIFE_MS } from '../../kube/certificate/issue.ts';
import type { Log } from '../../telemetry/log.ts';

/** The name of the Secret, of the ValidatingWebhookConfiguration, and of the field manager of its caBundle. */
const WEBHOOK_NAME = 'nodemaint-webhook';

const SECRETS: Resource = { root: '/api/v1', plural: 'secrets', namespaced: true };
const SECRET_METADATA = { name: WEBHOOK_NAME, namespace: CONTROLLER_NAMESPACE };

/** The Secret of the certificate, by its path and by its name for people. */
const SECRET = { path: objectPath(SECRETS, SECRET_METADATA), name: `${CONTROLLER_NAMESPACE}/${WEBHOOK_NAME}` };

const WEBHOOK_CONFIGURATIONS: Resource = {
  root: '/apis/admissionregistration.k8s.io/v1',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
};

/** The Secret of a certificate, with base64 in its data. */
interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly { readonly name: string; readonly clientConfig?: { readonly caBundle?: string } }[];
}

/** What a reconciliation found: the certificate, and whether the API servers began to trust it just now. */
export interface ReconciledCertificate {
  readonly serving: ServingCertificate;
  readonly trustChanged: boolean;
}

/**
 * Finds the webhook's certificate, which all replicas share. Throws API_REFUSED, also where another replica was faster, and
 * API_UNREACHABLE.
 */
export type ReconcileCertificate = (signal: AbortSignal) => Promise<ReconciledCertificate>;

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** The certificate in the data of its Secret. */
function servingOf({ data = {} }: Pick<Secret, 'data'>): ServingCertificate {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  return { certificate: text('tls.crt'), key: text('tls.key'), authorities: text('ca.crt') };
}

/** Issues a certificate that follows `before`, whose authorities stay trusted; `now` is in milliseconds since the epoch. */
async function issue(
  before: ServingCertificate | undefined,
  wantedHosts: readonly string[],
  now: number,
): Promise<ServingCertificate> {
  // Names are only added, so that replicas with different flags, as during an update, come to agree.
  const hosts = [...new Set([...wantedHosts, ...(before === undefined ? [] : hostsOf(before))])];
  const issued = await issueServingCertificate({ hosts, notBefore: now - BACKDATED_MS, notAfter: now + LIFE_MS });
  return { ...issued, authorities: trustedAuthorities(issued.certificate, before?.authorities ?? '', now) };
}

/** The server-side apply that sets the caBundle of all webhooks; undefined if all have it. */
function trustPatch({ metadata, webhooks = [] }: WebhookConfiguration, caBundle: string): object | undefined {
  if (webhooks.every(({ clientConfig }) => clientConfig?.caBundle === caBundle)) return undefined;
  const { uid, resourceVersion } = metadata;
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    // The UID keeps the patch from creating a configuration that was deleted since it was read.
    metadata: { name: WEBHOOK_NAME, uid, resourceVersion },
    webhooks: webhooks.map(({ name }) => ({ name, clientConfig: { caBundle } })),
  };
}

/** The answer to a write that goes by what was read. */
function unlessConflict<T>(answer: T | undefined, what: string): T {
  if (answer !== undefined) return answer;
  throw new NodemaintError('API_REFUSED', `another client has changed the ${what} since it was read`);
}

async function readSecret(client: KubeClient, signal: AbortSignal): Promise<Secret | undefined> {
  return await sendForObject<Secret>(client, { method: 'GET', path: SECRET.path }, [404], signal);
}

/** Stores the certificate in the Secret as it was read, or in a new one. */
async function store(
  client: KubeClient,
  { certificate, key, authorities }: ServingCertificate,
  old: Secret | undefined,
  signal: AbortSignal,
): Promise<void> {
  const data = { 'tls.crt': encode(certificate), 'tls.key': encode(key), 'ca.crt': encode(authorities) };
  const created = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: SECRET_METADATA, data };
  const changed = { metadata: { resourceVersion: old?.metadata.resourceVersion }, data };
  const change =
    old === undefined
      ? ({ method: 'POST', path: collectionPath(SECRETS, CONTROLLER_NAMESPACE), body: created } as const)
      : ({ method: 'PATCH', path: SECRET.path, body: changed, patch: { kind: 'merge' } } as const);
  unlessConflict(await sendForObject(client, change, [404, 409], signal), `Secret ${SECRET.name}`);
}

/** Creates the certificate of the webhook if there is none, renews it in time, and makes the API servers trust it. */
export function createOwnCertificate(
  hosts: readonly string[],
  { client, clock, log }: { readonly client: KubeClient; readonly clock: Clock; readonly log: Log },
): ReconcileCertificate {
  const path = objectPath(WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_NAME });
  /** Whether the configuration was missing at the last reconciliation: then that was logged. */
  let isMissing = false;

  /** The stored certificate, or a new one if that is needed. */
  const keepValid = async (signal: AbortSignal): Promise<ServingCertificate> => {
    const secret = await readSecret(client, signal);
    const before = secret && servingOf(secret);
    const reason = before === undefined ? 'there is none' : renewalReason(before, hosts, clock.now());
    if (before !== undefined && reason === undefined) return before;
    const fresh = await issue(before, hosts, clock.now());
    await store(client, fresh, secret, signal);
    log.info({ secret: SECRET.name, reason }, 'made a certificate for the webhook');
    return fresh;
  };
  return async (signal) => {
    // The configuration is read first: then the Secret is no older, and a newer trust is not taken back.
    const configuration = await sendForObject<WebhookConfiguration>(client, { method: 'GET', path }, [404], signal);
    const serving = await keepValid(signal);
    if (configuration === undefined && !isMissing)
      log.warn({ configuration: WEBHOOK_NAME }, 'no webhook configuration: no API server asks the webhook');
    isMissing = configuration === undefined;
    const body = configuration && trustPatch(configuration, encode(serving.authorities));
    if (body === undefined) return { serving, trustChanged: false };
    const patch = { kind: 'apply', manager: WEBHOOK_NAME } as const;
    const answer = await sendForObject(client, { method: 'PATCH', path, body, patch }, [404, 409], signal);
    unlessConflict(answer, `ValidatingWebhookConfiguration ${WEBHOOK_NAME}`);
    log.info({ configuration: WEBHOOK_NAME }, 'the API servers trust the certificate of the webhook');
    return { serving, trustChanged: true };
  };
}

/**
 * The certificate that another program, such as cert-manager, keeps in the Secret `nodemaint-webhook` and makes the API
 * servers trust. It is only read, once a minute like one of our own, and writes nothing.
 */
export function createGivenCertificate(client: KubeClient): ReconcileCertificate {
  const refused = (why: string): NodemaintError => new NodemaintError('API_REFUSED', `the Secret ${SECRET.name}${why}`);
  return async (signal) => {
    const secret = await readSecret(client, signal);
    if (secret === undefined) throw refused(' is not there; --webhook-certificate=secret leaves it to others');
    const serving = servingOf(secret);
    const why = unusableReason(serving);
    if (why !== undefined) throw refused(` has a certificate that cannot be served: ${why}`);
    // Who issues it knows when the API servers trust it.
    return { serving, trustChanged: false };
  };
}
