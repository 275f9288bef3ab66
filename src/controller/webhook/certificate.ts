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
export const WEBHOOK_NAME = 'nodemaint-webhook';

export const SECRETS: Resource = { root: '/api/v1', plural: 'secrets', namespaced: true };
const WEBHOOK_CONFIGURATIONS: Resource = {
  root: '/apis/admissionregistration.k8s.io/v1',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
};

/** A certificate is valid for this long after it was issued. */
const LIFE_MS = 365 * 24 * 60 * 60_000;
/** A certificate is valid from this long before it was issued: the clocks of API servers may be behind. */
const BACKDATED_MS = 60 * 60_000;
/** After this many conflicts with writes of other replicas a reconciliation fails. */
const MAX_CONFLICTS = 5;

/** The Secret of a certificate, with base64 in its data. */
export interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly { readonly name: string; readonly clientConfig?: { readonly caBundle?: string } }[];
}

/** The namespace of the certificate's Secret, and the names that the certificate is for. */
interface CertificateOptions {
  readonly namespace: string;
  readonly hosts: readonly string[];
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
   * Creates the certificate if there is none, renews it in time, and makes the API servers trust it. Throws API_REFUSED,
   * API_UNREACHABLE.
   */
  reconcile(signal: AbortSignal): Promise<ReconciledCertificate>;
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** The certificate in the data of its Secret. */
export function servingOf({ data = {} }: Pick<Secret, 'data'>): ServingCertificate {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  return { certificate: text('tls.crt'), key: text('tls.key'), authorities: text('ca.crt') };
}

function dataOf({ certificate, key, authorities }: ServingCertificate): NonNullable<Secret['data']> {
  return { 'tls.crt': encode(certificate), 'tls.key': encode(key), 'ca.crt': encode(authorities) };
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
  const authorities = trustedAuthorities(issued.authority, before?.authorities ?? '', now);
  return { certificate: issued.certificate, key: issued.key, authorities };
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

class WebhookCertificateManager implements CertificateManager {
  readonly #options: CertificateOptions;
  readonly #dependencies: CertificateDependencies;
  readonly #secretPath: string;
  readonly #configurationPath = objectPath(WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_NAME });
  /** Whether the configuration was missing at the last reconciliation: then that was logged. */
  #isConfigurationMissing = false;

  constructor(options: CertificateOptions, dependencies: CertificateDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#secretPath = objectPath(SECRETS, { name: WEBHOOK_NAME, namespace: options.namespace });
  }

  async reconcile(signal: AbortSignal): Promise<ReconciledCertificate> {
    for (let conflicts = 0; ; conflicts += 1) {
      const found = await this.#reconcileOnce(signal);
      if (found !== undefined) return found;
      if (conflicts >= MAX_CONFLICTS) {
        const what = `the Secret ${this.#options.namespace}/${WEBHOOK_NAME} or the webhook configuration`;
        throw new NodemaintError('API_REFUSED', `another client keeps changing ${what}`);
      }
    }
  }

  /** Reconciles once; undefined if the Secret or the configuration was changed since it was read. */
  async #reconcileOnce(signal: AbortSignal): Promise<ReconciledCertificate | undefined> {
    // The configuration is read first: then the Secret is no older, and a newer trust is not taken back.
    const configuration = await this.#readConfiguration(signal);
    const serving = await this.#keepValid(signal);
    if (configuration === undefined && !this.#isConfigurationMissing) {
      const what = 'no webhook configuration: no API server asks the webhook';
      this.#dependencies.log.warn({ configuration: WEBHOOK_NAME }, what);
    }
    this.#isConfigurationMissing = configuration === undefined;
    if (serving === undefined) return undefined;
    if (configuration === undefined) return { serving, trustChanged: false };
    const trust = await this.#keepTrusted(configuration, serving, signal);
    return trust === 'conflict' ? undefined : { serving, trustChanged: trust === 'changed' };
  }

  async #readConfiguration(signal: AbortSignal): Promise<WebhookConfiguration | undefined> {
    const request = { method: 'GET', path: this.#configurationPath } as const;
    return await sendForObject<WebhookConfiguration>(this.#dependencies.client, request, [404], signal);
  }

  /** Returns the stored certificate, or a new one if that is needed; undefined if another replica was faster. */
  async #keepValid(signal: AbortSignal): Promise<ServingCertificate | undefined> {
    const { client, clock, log } = this.#dependencies;
    const { namespace, hosts } = this.#options;
    const secret = await sendForObject<Secret>(client, { method: 'GET', path: this.#secretPath }, [404], signal);
    const before = secret === undefined ? undefined : servingOf(secret);
    const reason = before === undefined ? 'there is none' : renewalReason(before, hosts, clock.now());
    if (before !== undefined && reason === undefined) return before;
    const fresh = await issue(before, hosts, clock.now());
    if ((await this.#store(fresh, secret, signal)) === undefined) return undefined;
    log.info({ secret: `${namespace}/${WEBHOOK_NAME}`, reason }, 'made a certificate for the webhook');
    return fresh;
  }

  /** Stores the certificate; undefined if another replica has changed the Secret since it was read. */
  async #store(serving: ServingCertificate, old: Secret | undefined, signal: AbortSignal): Promise<Secret | undefined> {
    const { client } = this.#dependencies;
    const { namespace } = this.#options;
    const data = dataOf(serving);
    if (old === undefined) {
      const metadata = { name: WEBHOOK_NAME, namespace };
      const body = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata, data };
      const path = collectionPath(SECRETS, namespace);
      return await sendForObject(client, { method: 'POST', path, body }, [409], signal);
    }
    const body = { metadata: { resourceVersion: old.metadata.resourceVersion }, data };
    const change = { method: 'PATCH', path: this.#secretPath, body, patch: { kind: 'merge' } } as const;
    return await sendForObject(client, change, [404, 409], signal);
  }

  /** Makes the API servers trust the certificate. It is a conflict if the configuration was changed since it was read. */
  async #keepTrusted(
    configuration: WebhookConfiguration,
    serving: ServingCertificate,
    signal: AbortSignal,
  ): Promise<'known' | 'changed' | 'conflict'> {
    const { client, log } = this.#dependencies;
    const body = trustPatch(configuration, encode(serving.authorities));
    if (body === undefined) return 'known';
    const patch = { kind: 'apply', manager: WEBHOOK_NAME } as const;
    const change = { method: 'PATCH', path: this.#configurationPath, body, patch } as const;
    if ((await sendForObject(client, change, [404, 409], signal)) === undefined) return 'conflict';
    log.info({ configuration: WEBHOOK_NAME }, 'the API servers trust the certificate of the webhook');
    return 'changed';
  }
}

/** Creates the manager of the Secret and of the caBundle in the ValidatingWebhookConfiguration, both named WEBHOOK_NAME. */
export function createCertificateManager(
  options: CertificateOptions,
  dependencies: CertificateDependencies,
): CertificateManager {
  return new WebhookCertificateManager(options, dependencies);
}
