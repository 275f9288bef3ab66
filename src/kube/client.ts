import type { IncomingMessage } from 'node:http';
import https, { type RequestOptions } from 'node:https';
import { describeError, NodemaintError } from '../errors.ts';
import type { ClusterAccess } from './config.ts';

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
  /** Sends a request; resolves for every HTTP status, throws API_UNREACHABLE when there is no answer. */
  send(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse>;
  /** Opens a watch; yields each event as parsed JSON until the server or the signal ends it. */
  watch(path: string, signal: AbortSignal): AsyncIterable<unknown>;
  close(): void;
}

const REQUEST_TIMEOUT_MS = 30_000;
/** A quiet watch gets a bookmark about once a minute; a connection silent for longer is dead. */
const WATCH_SILENCE_MS = 150_000;

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

/** Makes a client. `userAgent` names the part of the program in the API server's audit log. */
export function createKubeClient(access: ClusterAccess, userAgent: string): KubeClient {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 16 });
  const base = access.server.pathname.replace(/\/$/, '');

  const open = async (request: KubeRequest, timeoutMs: number, signal: AbortSignal): Promise<IncomingMessage> => {
    const options: RequestOptions = {};
    await access.authenticate(options);
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const headers: Record<string, string> = { ...(options.headers as Record<string, string>), 'User-Agent': userAgent };
    headers['Accept'] = 'application/json';
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

  const unreachable = (request: KubeRequest, error: unknown): NodemaintError =>
    new NodemaintError(
      'API_UNREACHABLE',
      `no answer from ${access.server.origin} to ${request.method} ${request.path}: ${describeError(error)}`,
      { cause: error },
    );

  return {
    send: async (request, signal) => {
      try {
        const response = await open(request, REQUEST_TIMEOUT_MS, signal);
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
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
        let rest = '';
        response.setEncoding('utf8');
        for await (const chunk of response) {
          const lines = (rest + (chunk as string)).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) if (line !== '') yield JSON.parse(line);
        }
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
