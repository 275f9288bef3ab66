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

const SECRETS: Resource = { root: '/api/v1', plural: 'secrets', namespaced: true };
const WEBHOOK_CONFIGURATIONS: Resource = {
  root: '/apis/admissionregistration.k8s.io/v1',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
};

const LIFE_MS = 365 * 24 * 60 * 60_000;
/** The clocks of API servers may be behind ours. */
const BACKDATED_MS = 60 * 60_000;
/** Attempts when other replicas are at the same thing. */
const MAX_CONFLICTS = 5;

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly { readonly name: string; readonly clientConfig?: { readonly caBundle?: string } }[];
}

/** Where the certificate is kept, and for which names it is. */
export interface CertificateOptions {
  readonly namespace: string;
  readonly hosts: readonly string[];
}

export interface CertificateDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps the webhook's certificate, which all replicas share, valid and trusted. */
export interface CertificateManager {
  /**
   * Looks once: makes the certificate where there is none, renews it in time, has the API servers trust it, and returns
   * it with whether their trust was changed just now. Throws API_REFUSED, API_UNREACHABLE.
   */
  look(signal: AbortSignal): Promise<{ readonly serving: ServingCertificate; readonly trustChanged: boolean }>;
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

function servingOf({ data = {} }: Secret): ServingCertificate {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  return { certificate: text('tls.crt'), key: text('tls.key'), authorities: text('ca.crt') };
}

/** Makes a keeper of the Secret and of the caBundle in the ValidatingWebhookConfiguration, both named WEBHOOK_NAME. */
export function createCertificateManager(
  options: CertificateOptions,
  { client, clock, log }: CertificateDependencies,
): CertificateManager {
  const { namespace } = options;
  const secretPath = objectPath(SECRETS, { name: WEBHOOK_NAME, namespace });
  const configurationPath = objectPath(WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_NAME });
  let missingTold = false;

  const issue = async (before: ServingCertificate | undefined): Promise<ServingCertificate> => {
    const now = clock.now();
    // Names are only added, so that replicas with different flags, as during an update, come to agree.
    const hosts = [...new Set([...options.hosts, ...(before === undefined ? [] : hostsOf(before))])];
    const issued = await issueServingCertificate({ hosts, notBefore: now - BACKDATED_MS, notAfter: now + LIFE_MS });
    const authorities = trustedAuthorities(issued.authority, before?.authorities ?? '', now);
    return { certificate: issued.certificate, key: issued.key, authorities };
  };

  /** Stores the certificate; undefined where another replica has changed the Secret since it was read. */
  const store = async (
    serving: ServingCertificate,
    old: Secret | undefined,
    signal: AbortSignal,
  ): Promise<Secret | undefined> => {
    const data = {
      'tls.crt': encode(serving.certificate),
      'tls.key': encode(serving.key),
      'ca.crt': encode(serving.authorities),
    };
    if (old === undefined) {
      const metadata = { name: WEBHOOK_NAME, namespace };
      const body = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata, data };
      const path = collectionPath(SECRETS, namespace);
      return await sendForObject(client, { method: 'POST', path, body }, [409], signal);
    }
    const body = { metadata: { resourceVersion: old.metadata.resourceVersion }, data };
    const patch = { kind: 'merge' } as const;
    return await sendForObject(client, { method: 'PATCH', path: secretPath, body, patch }, [404, 409], signal);
  };

  /** The certificate that is stored, or a new one where that is needed; undefined where another replica was faster. */
  const keep = async (signal: AbortSignal): Promise<ServingCertificate | undefined> => {
    const secret = await sendForObject<Secret>(client, { method: 'GET', path: secretPath }, [404], signal);
    const before = secret === undefined ? undefined : servingOf(secret);
    const why = before === undefined ? 'there is none' : renewalReason(before, options.hosts, clock.now());
    if (before !== undefined && why === undefined) return before;
    const fresh = await issue(before);
    if ((await store(fresh, secret, signal)) === undefined) return undefined;
    log.info({ secret: `${namespace}/${WEBHOOK_NAME}`, reason: why }, 'made a certificate for the webhook');
    return fresh;
  };

  /** Has the API servers trust the certificate; undefined where the configuration has changed since it was read. */
  const trust = async (
    configuration: WebhookConfiguration,
    serving: ServingCertificate,
    signal: AbortSignal,
  ): Promise<'known' | 'changed' | undefined> => {
    const caBundle = encode(serving.authorities);
    const webhooks = configuration.webhooks ?? [];
    if (webhooks.every(({ clientConfig }) => clientConfig?.caBundle === caBundle)) return 'known';
    const { uid, resourceVersion } = configuration.metadata;
    const body = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      // The UID keeps the patch from making one that somebody takes away just now.
      metadata: { name: WEBHOOK_NAME, uid, resourceVersion },
      webhooks: webhooks.map(({ name }) => ({ name, clientConfig: { caBundle } })),
    };
    const patch = { kind: 'apply', manager: WEBHOOK_NAME } as const;
    const change = { method: 'PATCH', path: configurationPath, body, patch } as const;
    if ((await sendForObject(client, change, [404, 409], signal)) === undefined) return undefined;
    log.info({ configuration: WEBHOOK_NAME }, 'the API servers trust the certificate of the webhook');
    return 'changed';
  };

  return {
    look: async (signal) => {
      for (let conflicts = 0; ; conflicts += 1) {
        // The configuration is read first: then what is in the Secret is no older, and a newer trust is not taken back.
        const configuration = await sendForObject<WebhookConfiguration>(
          client,
          { method: 'GET', path: configurationPath },
          [404],
          signal,
        );
        const serving = await keep(signal);
        if (configuration === undefined && !missingTold) {
          log.warn({ configuration: WEBHOOK_NAME }, 'no webhook configuration: no API server asks the webhook');
        }
        missingTold = configuration === undefined;
        const trusted =
          serving === undefined || configuration === undefined ? 'known' : await trust(configuration, serving, signal);
        if (serving !== undefined && trusted !== undefined) return { serving, trustChanged: trusted === 'changed' };
        if (conflicts >= MAX_CONFLICTS) {
          const what = `the Secret ${namespace}/${WEBHOOK_NAME} or the webhook configuration`;
          throw new NodemaintError('API_REFUSED', `somebody else keeps changing ${what}`);
        }
      }
    },
  };
}
