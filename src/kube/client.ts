import type { IncomingMessage } from 'node:http';
import https, { type RequestOptions } from 'node:https';
import { describeError, NodemaintError } from '../errors.ts';
import type { ClusterAccess } from './access/cluster.ts';
import { linesOf } from './lines.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Kinds of patch: a JSON merge patch, a strategic one (for built-in types, whose lists it merges by key), or a forced
 * server-side apply by a named field manager.
 */
export type Patch = { readonly kind: 'merge' | 'strategic' } | { readonly kind: 'apply'; readonly manager: string };

export interface KubeRequest {
  readonly method: Method;
  /** Path with its query, from the root of the API server. */
  readonly path: string;
  readonly body?: unknown;
  readonly patch?: Patch;
  /** Whether a list is to have nothing but the metadata of its objects. */
  readonly namesOnly?: boolean;
  /** The user that the request is made as, by impersonation; one's own identity without it. */
  readonly as?: string;
}

/** An answer of the API server, whatever its status; the body is parsed JSON. */
export interface KubeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

/** A client of one API server. */
export interface KubeClient {
  /**
   * Sends a request; resolves for every HTTP status. Throws API_UNREACHABLE when there is no answer, API_ANSWER_TOO_LARGE
   * when it is larger than this program reads.
   */
  send(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse>;
  /**
   * Opens a watch; yields each event as parsed JSON until the server or the signal ends it. Throws API_UNREACHABLE, and
   * API_ANSWER_TOO_LARGE for an event that is larger than this program reads.
   */
  watch(path: string, signal: AbortSignal): AsyncIterable<unknown>;
  close(): void;
}

const REQUEST_TIMEOUT_MS = 30_000;
/** A quiet watch gets a bookmark about once a minute; a connection silent for longer is dead. */
const WATCH_SILENCE_MS = 150_000;
/** Longer answers are refused, so that large objects cannot fill the memory: about ten objects of etcd's default maximum size. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const NAMES_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** The Content-Type of a patch, as the API server expects it. */
function contentType(patch: Patch | undefined): string {
  if (patch === undefined) return 'application/json';
  return {
    merge: 'application/merge-patch+json',
    strategic: 'application/strategic-merge-patch+json',
    apply: 'application/apply-patch+yaml',
  }[patch.kind];
}

function withManager({ path, patch }: KubeRequest): string {
  if (patch?.kind !== 'apply') return path;
  return `${path}${path.includes('?') ? '&' : '?'}fieldManager=${encodeURIComponent(patch.manager)}&force=true`;
}

/**
 * Makes a client. `userAgent` names the part of the program in the API server's audit log; no answer and no event of a
 * watch has more than `maxBytes`.
 */
export function createKubeClient(
  access: ClusterAccess,
  userAgent: string,
  maxBytes: number = MAX_ANSWER_BYTES,
): KubeClient {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 16 });
  const base = access.server.pathname.replace(/\/$/, '');

  const open = async (request: KubeRequest, timeoutMs: number, signal: AbortSignal): Promise<IncomingMessage> => {
    const options: RequestOptions = {};
    await access.authenticate(options);
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const headers: Record<string, string> = { ...(options.headers as Record<string, string>), 'User-Agent': userAgent };
    headers['Accept'] = request.namesOnly === true ? NAMES_ONLY : 'application/json';
    if (request.as !== undefined) headers['Impersonate-User'] = request.as;
    if (body !== undefined) {
      headers['Content-Type'] = contentType(request.patch);
      // Node leaves it out of a DELETE: the server would ignore the body and take it for the start of the next request.
      headers['Content-Length'] = String(Buffer.byteLength(body));
    }
    return await new Promise((resolve, reject) => {
      const call = https.request(new URL(base + withManager(request), access.server), {
        agent,
        ...options,
        method: request.method,
        headers,
        signal,
        timeout: timeoutMs,
      });
      call.on('timeout', () => call.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
      call.on('error', reject);
      call.on('response', resolve);
      call.end(body);
    });
  };

  const tooLarge = ({ method, path }: KubeRequest, what: string): NodemaintError =>
    new NodemaintError('API_ANSWER_TOO_LARGE', `${what} of ${method} ${path} has more than ${maxBytes} bytes`);

  const unreachable = (request: KubeRequest, error: unknown): unknown => {
    if (error instanceof NodemaintError) return error;
    return new NodemaintError(
      'API_UNREACHABLE',
      `no answer from ${access.server.origin} to ${request.method} ${request.path}: ${describeError(error)}`,
      { cause: error },
    );
  };

  return {
    send: async (request, signal) => {
      try {
        const response = await open(request, REQUEST_TIMEOUT_MS, signal);
        const chunks: Buffer[] = [];
        let size = 0;
        // Leaving the loop destroys the connection, and with it the rest of the answer.
        for await (const chunk of response as AsyncIterable<Buffer>) {
          size += chunk.length;
          if (size > maxBytes) throw tooLarge(request, 'the answer');
          chunks.push(chunk);
        }
        const text = Buffer.concat(chunks).toString('utf8');
        return { status: response.statusCode ?? 0, headers: response.headers, body: parseJson(text) };
      } catch (error) {
        signal.throwIfAborted();
        throw unreachable(request, error);
      }
    },
    watch: async function* (path, signal) {
      const request: KubeRequest = { method: 'GET', path };
      try {
        const response = await open(request, WATCH_SILENCE_MS, signal);
        if (response.statusCode !== 200) {
          response.resume();
          yield { type: 'ERROR', object: { code: response.statusCode } };
          return;
        }
        response.setEncoding('utf8');
        const lines = linesOf(response as AsyncIterable<string>, maxBytes, () => tooLarge(request, 'an event'));
        for await (const line of lines) yield JSON.parse(line);
      } catch (error) {
        signal.throwIfAborted();
        throw unreachable(request, error);
      }
    },
    close: () => {
      agent.destroy();
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text.slice(0, 500) };
  }
}
