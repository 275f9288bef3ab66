import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** A serving certificate with its key and what its clients may trust, all PEM. */
export interface ServingCertificate {
  readonly certificate: string;
  /** The private key; never to be logged. */
  readonly key: string;
  /** The certificate, which is its own authority, and those before it that are still valid, newest first. */
  readonly authorities: string;
}

/** Authorities that are kept at most: the present one, and those that clients know and other replicas may still serve. */
const MAX_AUTHORITIES = 3;

/** The certificates of a PEM text; those that cannot be read are left out. */
function certificatesOf(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

/** The DNS names and IP addresses that the certificate is for. */
export function hostsOf({ certificate }: ServingCertificate): readonly string[] {
  const names = certificatesOf(certificate)[0]?.subjectAltName ?? '';
  return [...names.matchAll(/(?:DNS|IP Address):([^\s,"]+)/g)].map(([, host]) => host ?? '');
}

function isFor(certificate: X509Certificate, host: string): boolean {
  const found = isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host);
  return found !== undefined;
}

function keyFits(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/** Why the certificate cannot be served; undefined where it can. Its names and its end are the affair of who issues it. */
export function unusableReason(serving: Pick<ServingCertificate, 'certificate' | 'key'>): string | undefined {
  const [certificate] = certificatesOf(serving.certificate);
  if (certificate === undefined) return 'it cannot be read';
  return keyFits(certificate, serving.key) ? undefined : 'its key does not fit';
}

/**
 * Why a new certificate is needed instead of this one: it cannot be used, is not for all of the `hosts`, or has less than
 * a third of its life left at `now` (milliseconds since the epoch). Undefined where it goes on.
 */
export function renewalReason(serving: ServingCertificate, hosts: readonly string[], now: number): string | undefined {
  const [certificate] = certificatesOf(serving.certificate);
  const unusable = unusableReason(serving);
  if (certificate === undefined || unusable !== undefined) return unusable;
  const authorities = certificatesOf(serving.authorities);
  if (!authorities.some((each) => certificate.checkIssued(each) && certificate.verify(each.publicKey))) {
    return 'its authority is not there';
  }
  const missing = hosts.filter((host) => !isFor(certificate, host));
  if (missing.length > 0) return `it is not for ${missing.join(', ')}`;
  const [from, to] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
  if (now < from) return `it is not valid before ${certificate.validFromDate.toISOString()}`;
  if (to - now < (to - from) / 3) return `it is valid until ${certificate.validToDate.toISOString()} only`;
  return undefined;
}

/** The authorities to trust from now on: the new one, and what was trusted before as long as it is valid. */
export function trustedAuthorities(authority: string, before: string, now: number): string {
  const known = certificatesOf(before).filter((each) => each.validToDate.getTime() > now);
  return [...certificatesOf(authority), ...known]
    .slice(0, MAX_AUTHORITIES)
    .map((each) => each.toString())
    .join('');
}
