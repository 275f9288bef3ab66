import { type KeyObject, KeyObject as Key, randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';

/** A serving certificate as PEM, with the certificate of the authority that signed it. */
export interface IssuedCertificate {
  readonly certificate: string;
  /** The private key, PKCS #8. */
  readonly key: string;
  readonly authority: string;
}

/** What a serving certificate is for. */
interface CertificateRequest {
  /** DNS names and IP addresses; the first names the certificate. */
  readonly hosts: readonly string[];
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

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
 * Makes a certificate authority (ECDSA P-256) and a serving certificate signed by it, both valid for the same time. The
 * authority's private key is not returned: a renewal makes a new authority.
 */
export async function issueServingCertificate(request: CertificateRequest): Promise<IssuedCertificate> {
  const x509 = await loadLibrary();
  const { subtle } = webcrypto;
  const [authorityKeys, keys] = await Promise.all([
    subtle.generateKey(CURVE, false, ['sign', 'verify']),
    subtle.generateKey(CURVE, true, ['sign', 'verify']),
  ]);
  const validity = { notBefore: new Date(request.notBefore), notAfter: new Date(request.notAfter) };
  const usage = x509.KeyUsageFlags;
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    serialNumber: serialNumber(),
    // A name of its own: chains are built by name, and several of these stand in one bundle.
    name: [{ CN: [`nodemaint webhook authority ${serialNumber().slice(0, 8)}`] }],
    keys: authorityKeys,
    signingAlgorithm: SIGNING,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(usage.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  });
  const names = request.hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value }));
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity,
    serialNumber: serialNumber(),
    // A common name holds 64 characters; clients look at the subject alternative names.
    subject: [{ CN: [(request.hosts[0] ?? 'nodemaint-webhook').slice(0, 64)] }],
    issuer: authority.subjectName,
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    signingAlgorithm: SIGNING,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(usage.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([SERVER_AUTH]),
      new x509.SubjectAlternativeNameExtension(names),
      await x509.AuthorityKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  });
  return {
    certificate: `${certificate.toString('pem')}\n`,
    key: pemOf(keys.privateKey),
    authority: `${authority.toString('pem')}\n`,
  };
}
