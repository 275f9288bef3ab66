import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import * as z from 'zod';
import { describeError, NodemaintError } from '../errors.ts';

/** A request to a metadata service. */
interface MetadataRequest {
  readonly method?: 'GET' | 'PUT' | 'POST';
  /** Includes the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The time limit for the whole answer, in milliseconds; default 5 s. */
  readonly timeoutMs?: number;
}

interface MetadataAnswer {
  readonly status: number;
  readonly body: string;
  readonly etag: string | undefined;
}

/** A metadata service. */
export interface Metadata {
  /** Throws METADATA_FAILED if no answer comes in time, the answer is too long, or it is a redirect. */
  send(request: MetadataRequest, signal: AbortSignal): Promise<MetadataAnswer>;
  close(): void;
}

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 64 * 1024;

/** The addresses of metadata services: link-local ones, Alibaba's, and the IPv6 address of AWS. */
const ALLOWED = new BlockList();
ALLOWED.addSubnet('169.254.0.0', 16, 'ipv4');
ALLOWED.addAddress('100.100.100.200', 'ipv4');
ALLOWED.addSubnet('fe80::', 10, 'ipv6');
ALLOWED.addAddress('fd00:ec2::254', 'ipv6');

/** A failure of a metadata service; `message` is one sentence. */
export function metadataError(message: string, cause?: unknown): NodemaintError {
  return new NodemaintError('METADATA_FAILED', message, cause === undefined ? undefined : { cause });
}

function isAllowed(address: string): boolean {
  return ALLOWED.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** A DNS lookup that accepts only the addresses of metadata services, whatever a DNS server answers. */
const lookupAllowed: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    const addresses = (found ?? []).filter(({ address }) => isAllowed(address));
    const [first] = addresses;
    if (error !== null || first === undefined) {
      callback(error ?? new Error(`${hostname} has no link-local address`), []);
    } else if (options.all === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

/** The text of an answer. Throws where it has more than 64 KiB. */
async function readBody(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`the answer has more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * The metadata service at `base`, for instance http://169.254.169.254. Requests never use a proxy, and redirects are
 * refused. If the address comes from the configuration (`configured`), every address is allowed; else only those of `ALLOWED`.
 */
export function createMetadata(base: string, configured: boolean): Metadata {
  const url = new URL(base);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (url.protocol !== 'http:') throw metadataError(`${base} is no address of a metadata service: it must be http://`);
  if (!configured && isIP(host) !== 0 && !isAllowed(host)) throw metadataError(`${host} is not link-local`);
  // Our own agent uses no proxy, whatever the environment variables say.
  const agent = new Agent({ keepAlive: true, maxSockets: 8, maxFreeSockets: 1 });

  return {
    send: async ({ method = 'GET', path, headers = {}, body, timeoutMs = TIMEOUT_MS }, signal) => {
      const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        const response = await new Promise<IncomingMessage>((resolve, reject) => {
          const options = { host, port: url.port, method, path, headers, agent, signal: within };
          const request = httpRequest(configured ? options : { ...options, lookup: lookupAllowed }, resolve);
          request.on('error', reject);
          request.end(body);
        });
        try {
          const status = response.statusCode ?? 0;
          if (status >= 300 && status < 400) throw new Error(`a redirect (HTTP ${status}), which is not followed`);
          return { status, body: (await readBody(response)).trim(), etag: response.headers.etag };
        } finally {
          response.destroy();
        }
      } catch (error) {
        signal.throwIfAborted();
        const why = within.aborted ? `no answer within ${timeoutMs / 1000} s` : describeError(error);
        throw metadataError(`${method} ${url.origin}${path}: ${why}`, error);
      }
    },
    close: () => {
      agent.destroy();
    },
  };
}

/** The text of an answer; undefined for 404, which means in all clouds that there is nothing to report. Throws METADATA_FAILED. */
export function textOf(answer: MetadataAnswer, path: string): string | undefined {
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw metadataError(`${path}: HTTP ${answer.status}`);
  return answer.body;
}

const TOKEN_PATH = '/latest/api/token';
const TOKEN_TTL_SEC = 21_600;

/**
 * Reads texts with a session token, which is replaced when the service refuses it; `header` is that of the token, with
 * "-ttl-seconds" that of its life. A text is undefined where there is nothing to report.
 */
export function createTokenReader(
  metadata: Pick<Metadata, 'send'>,
  header: string,
): (path: string, signal: AbortSignal) => Promise<string | undefined> {
  let token: Promise<string> | undefined;
  const newToken = async (signal: AbortSignal): Promise<string> => {
    const headers = { [`${header}-ttl-seconds`]: String(TOKEN_TTL_SEC) };
    const answer = await metadata.send({ method: 'PUT', path: TOKEN_PATH, headers }, signal);
    // The token becomes a header, so it may contain only characters that are valid in one.
    if (answer.status !== 200 || !/^[\x21-\x7e]{1,1024}$/.test(answer.body)) {
      throw metadataError(`PUT ${TOKEN_PATH}: no session token (HTTP ${answer.status})`);
    }
    return answer.body;
  };
  const read = async (path: string, signal: AbortSignal): Promise<string | undefined> => {
    token ??= newToken(signal);
    const own = token;
    try {
      return textOf(await metadata.send({ path, headers: { [header]: await own } }, signal), path);
    } catch (error) {
      // The token may be the reason for any failure, so it is not used again.
      if (token === own) token = undefined;
      throw error;
    }
  };
  return async (path, signal) => {
    const had = token;
    try {
      return await read(path, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (had === undefined) throw error;
      return await read(path, signal);
    }
  };
}

/** Parses an answer as JSON; undefined for an empty one. Throws METADATA_FAILED if it does not fit the schema. */
export function parseJson<T>(schema: z.ZodType<T>, text: string | undefined, path: string): T | undefined {
  if (text === undefined || text === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw metadataError(`${path}: the answer is no JSON`, error);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw metadataError(`${path}: the answer has an unexpected form: ${z.prettifyError(result.error)}`);
}
