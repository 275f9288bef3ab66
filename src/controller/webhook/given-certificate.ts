import { createPrivateKey, X509Certificate } from 'node:crypto';
import { NodemaintError } from '../../errors.ts';
import type { ServingCertificate } from '../../kube/certificate/serving-certificate.ts';
import type { KubeClient } from '../../kube/client.ts';
import { objectPath, sendForObject } from '../../kube/resource.ts';
import { type CertificateManager, type Secret, SECRETS, servingOf, WEBHOOK_NAME } from './certificate.ts';

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
export function createGivenCertificate(namespace: string, client: KubeClient): CertificateManager {
  const path = objectPath(SECRETS, { name: WEBHOOK_NAME, namespace });
  const name = `the Secret ${namespace}/${WEBHOOK_NAME}`;
  return {
    reconcile: async (signal) => {
      const secret = await sendForObject<Secret>(client, { method: 'GET', path }, [404], signal);
      if (secret === undefined) {
        throw new NodemaintError(
          'API_REFUSED',
          `${name} is not there; --webhook-certificate=secret leaves it to others`,
        );
      }
      const serving = servingOf(secret);
      const why = whyUnusable(serving);
      if (why !== undefined) throw new NodemaintError('API_REFUSED', `${name}: ${why}`);
      // Who issues it knows when the API servers trust it.
      return { serving, trustChanged: false };
    },
  };
}
