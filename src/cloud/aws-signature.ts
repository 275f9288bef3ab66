/** AWS Signature Version 4 of requests whose query is empty. */
import { createHash, createHmac } from 'node:crypto';

/** The credentials of an instance role. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** What a signature is valid for. */
interface SignatureScope {
  readonly region: string;
  readonly service: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

interface UnsignedPost {
  /** Without a query. */
  readonly url: URL;
  readonly contentType: string;
  readonly body: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The headers with which a POST is accepted for some minutes after `at`; `Host` is signed too, and is set by whoever sends. */
export function signPost(
  { url, contentType, body }: UnsignedPost,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  { region, service, at }: SignatureScope,
): Record<string, string> {
  const time = new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const date = time.slice(0, 8);
  const token: [string, string][] = sessionToken === '' ? [] : [['x-amz-security-token', sessionToken]];
  const headers: readonly [string, string][] = [
    ['content-type', contentType],
    ['host', url.host],
    ['x-amz-date', time],
    ...token,
  ];
  const signed = headers.map(([name]) => name).join(';');
  const lines = headers.map(([name, value]) => `${name}:${value}\n`).join('');
  const canonical = ['POST', url.pathname, '', lines, signed, sha256(body)].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const signature = hmac(key, [ALGORITHM, time, scope, sha256(canonical)].join('\n')).toString('hex');
  const authorization = `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
  return { ...Object.fromEntries(headers.filter(([name]) => name !== 'host')), authorization };
}
