import { type KeyObject, KeyObject as Key, randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';

/** A serving certificate as PEM. */
export interface IssuedCertificate {
  readonly certificate: string;
  /** The private key, PKCS #8. */
  readonly key: string;
}

/** What a serving certificate is for. */
interface CertificateRequest {
  /** DNS names and IP addresses. */
  readonly hosts: readonly string[];
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

/** A certificate is valid for this long after it was issued. */
export const LIFE_MS = 365 * 24 * 60 * 60_000;
/** A certificate is valid from this long before it was issued: the clocks of API servers may be behind. */
export const BACKDATED_MS = 60 * 60_000;

const CURVE = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' } as const;
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

/**
 * Loads the library when a certificate is to be made and not before: 20 MB that no agent, and hardly ever a controller,
 * needs. Its dependency injection refuses to load without the metadata calls of a proposal that Node.js does not have,
 * but then finds nothing in them to inject, so that they may be empty, and need not stay.
 */
async function loadLibrary(): Promise<typeof import('@peculiar/x509')> {
  const nothing = (): undefined => undefined;
  const calls = ['getMetadata', 'getOwnMetadata'].filter((name) => !Reflect.has(Reflect, name));
  for (const name of calls) Reflect.set(Reflect, name, nothing);
  try {
    return await import('@peculiar/x509');
  } finally {
    for (const name of calls) Reflect.deleteProperty(Reflect, name);
  }
}

/** RFC 5280, 4.1.2.2: positive, at most 20 octets. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
}

function pemOf(key: webcrypto.CryptoKey): string {
  const object: KeyObject = Key.from(key);
  return object.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/**
 * Makes a serving certificate (ECDSA P-256) that is its own authority: who trusts it trusts nothing else, and no other key is to
 * be kept.
 */
export async function issueServingCertificate({
  hosts,
  notBefore,
  notAfter,
}: CertificateRequest): Promise<IssuedCertificate> {
  const x509 = await loadLibrary();
  const keys = await webcrypto.subtle.generateKey(CURVE, true, ['sign', 'verify']);
  const names = hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value }));
  const usage = x509.KeyUsageFlags;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    notBefore: new Date(notBefore),
    notAfter: new Date(notAfter),
    serialNumber: serialNumber(),
    // A name of its own, for several of these stand in one bundle; clients look at the subject alternative names.
    name: [{ CN: [`nodemaint webhook ${serialNumber().slice(0, 8)}`] }],
    keys,
    signingAlgorithm: SIGNING,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(usage.digitalSignature | usage.keyCertSign, true),
      new x509.ExtendedKeyUsageExtension([SERVER_AUTH]),
      new x509.SubjectAlternativeNameExtension(names),
    ],
  });
  return { certificate: `${certificate.toString('pem')}\n`, key: pemOf(keys.privateKey) };
}
