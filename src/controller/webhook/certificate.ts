import { createPrivateKey, X509Certificate } from 'node:crypto';
import { CONTROLLER_NAMESPACE } from '../../api/lease.ts';
import type { KubeObject } from '../../api/meta.ts';
import { NodemaintError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { collectionPath, objectPath, type Resource, sendForObject } from '../../kube/resource.ts';
import {
  hostsOf,
  renewalReason,
  type ServingCertificate,
  trustedAuthorities,
} from '../../kube/certificate/serving-certificate.ts';
import { issueServingCertificate } from '../../kube/certificate/x509.ts';
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

/** A certificate is valid for this long after it was issued. */
const LIFE_MS = 365 * 24 * 60 * 60_000;
/** A certificate is valid from this long before it was issued: the clocks of API servers may be behind. */
const BACKDATED_MS = 60 * 60_000;

/** The Secret of a certificate, with base64 in its data. */
interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly { readonly name: string; readonly clientConfig?: { readonly caBundle?: string } }[];
}

interface CertificateDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a reconciliation found: the certificate, and whether the API servers began to trust it just now. */
export interface ReconciledCertificate {
  readonly serving: ServingCertificate;
  readonly trustChanged: boolean;
}

/** Keeps the webhook's certificate, which all replicas share, valid and trusted. */
export interface CertificateManager {
  /**
   * Creates the certificate if there is none, renews it in time, and makes the API servers trust it. Throws API_REFUSED, also
   * where another replica was faster, and API_UNREACHABLE.
   */
  reconcile(signal: AbortSignal): Promise<ReconciledCertificate>;
}

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

function conflict(what: string): NodemaintError {
  return new NodemaintError('API_REFUSED', `another client has changed ${what} since it was read`);
}

/** The manager of the Secret and of the caBundle in the ValidatingWebhookConfiguration, both named WEBHOOK_NAME. */
export class WebhookCertificateManager implements CertificateManager {
  readonly #hosts: readonly string[];
  readonly #dependencies: CertificateDependencies;
  readonly #configurationPath = objectPath(WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_NAME });
  /** Whether the configuration was missing at the last reconciliation: then that was logged. */
  #isConfigurationMissing = false;

  constructor(hosts: readonly string[], dependencies: CertificateDependencies) {
    this.#hosts = hosts;
    this.#dependencies = dependencies;
  }

  async reconcile(signal: AbortSignal): Promise<ReconciledCertificate> {
    // The configuration is read first: then the Secret is no older, and a newer trust is not taken back.
    const request = { method: 'GET', path: this.#configurationPath } as const;
    const configuration = await sendForObject<WebhookConfiguration>(this.#dependencies.client, request, [404], signal);
    const serving = await this.#keepValid(signal);
    if (configuration === undefined && !this.#isConfigurationMissing) {
      const what = 'no webhook configuration: no API server asks the webhook';
      this.#dependencies.log.warn({ configuration: WEBHOOK_NAME }, what);
    }
    this.#isConfigurationMissing = configuration === undefined;
    if (configuration === undefined) return { serving, trustChanged: false };
    return { serving, trustChanged: await this.#keepTrusted(configuration, serving, signal) };
  }

  /** Returns the stored certificate, or a new one if that is needed. */
  async #keepValid(signal: AbortSignal): Promise<ServingCertificate> {
    const { client, clock, log } = this.#dependencies;
    const secret = await sendForObject<Secret>(client, { method: 'GET', path: SECRET.path }, [404], signal);
    const before = secret === undefined ? undefined : servingOf(secret);
    const reason = before === undefined ? 'there is none' : renewalReason(before, this.#hosts, clock.now());
    if (before !== undefined && reason === undefined) return before;
    const fresh = await issue(before, this.#hosts, clock.now());
    if ((await this.#store(fresh, secret, signal)) === undefined) throw conflict(`the Secret ${SECRET.name}`);
    log.info({ secret: SECRET.name, reason }, 'made a certificate for the webhook');
    return fresh;
  }

  /** Stores the certificate; undefined if another replica has changed the Secret since it was read. */
  async #store(serving: ServingCertificate, old: Secret | undefined, signal: AbortSignal): Promise<Secret | undefined> {
    const { client } = this.#dependencies;
    const { certificate, key, authorities } = serving;
    const data = { 'tls.crt': encode(certificate), 'tls.key': encode(key), 'ca.crt': encode(authorities) };
    if (old === undefined) {
      const body = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: SECRET_METADATA, data };
      const path = collectionPath(SECRETS, CONTROLLER_NAMESPACE);
      return await sendForObject(client, { method: 'POST', path, body }, [409], signal);
    }
    const body = { metadata: { resourceVersion: old.metadata.resourceVersion }, data };
    const change = { method: 'PATCH', path: SECRET.path, body, patch: { kind: 'merge' } } as const;
    return await sendForObject(client, change, [404, 409], signal);
  }

  /** Makes the API servers trust the certificate; returns whether they did not before. */
  async #keepTrusted(
    configuration: WebhookConfiguration,
    serving: ServingCertificate,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, log } = this.#dependencies;
    const body = trustPatch(configuration, encode(serving.authorities));
    if (body === undefined) return false;
    const patch = { kind: 'apply', manager: WEBHOOK_NAME } as const;
    const change = { method: 'PATCH', path: this.#configurationPath, body, patch } as const;
    const done = await sendForObject(client, change, [404, 409], signal);
    if (done === undefined) throw conflict(`the ValidatingWebhookConfiguration ${WEBHOOK_NAME}`);
    log.info({ configuration: WEBHOOK_NAME }, 'the API servers trust the certificate of the webhook');
    return true;
  }
}

/** Why this certificate cannot be served; undefined where it can. Its names and its end are the affair of who issues it. */
function whyUnusable({ certificate, key }: ServingCertificate): string | undefined {
  try {
    const isPair = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
    return isPair ? undefined : 'tls.key does not fit tls.crt';
  } catch {
    return 'tls.crt or tls.key cannot be read';
  }
}

/**
 * The certificate that another program, such as cert-manager, keeps in the Secret `nodemaint-webhook` and makes the API
 * servers trust. It is only read, once a minute like one of our own, and writes nothing.
 */
export function createGivenCertificate(client: KubeClient): CertificateManager {
  const refused = (why: string): NodemaintError => new NodemaintError('API_REFUSED', `the Secret ${SECRET.name}${why}`);
  return {
    reconcile: async (signal) => {
      const secret = await sendForObject<Secret>(client, { method: 'GET', path: SECRET.path }, [404], signal);
      if (secret === undefined) throw refused(' is not there; --webhook-certificate=secret leaves it to others');
      const serving = servingOf(secret);
      const why = whyUnusable(serving);
      if (why !== undefined) throw refused(`: ${why}`);
      // Who issues it knows when the API servers trust it.
      return { serving, trustChanged: false };
    },
  };
}
