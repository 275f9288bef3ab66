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
  /** Whether a list has only the metadata of its objects. */
  readonly namesOnly?: boolean;
  /** How the answer is wanted instead: the metadata of one object, or a table with the metadata of each row. */
  readonly answer?: 'metadata' | 'table';
  /**
   * Whether admission webhooks of others may keep the answer back, as for the end of a pod: such requests have connections of
   * their own, so that they delay no others, and wait for the API server's own time-out, whose answer says what was slow.
   */
  readonly behindWebhooks?: true;
  /**
   * Whether nobody waits for it, as for an Event: such requests have few connections of their own, so that those which a drain
   * waits for go before them where the API server is busy.
   */
  readonly patient?: true;
  /** Whether its answer lasts, as that of a watch. */
  readonly watching?: true;
  /** The user that the request is made as, by impersonation; without it, the identity of the credentials. */
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
   * Sends a request; resolves for every HTTP status. Throws API_UNREACHABLE if there is no answer, and API_ANSWER_TOO_LARGE
   * for an answer that is larger than this program reads.
   */
  send(request: KubeRequest, signal: AbortSignal): Promise<KubeResponse>;
  /**
   * Opens a watch; yields each event as parsed JSON until the server or the signal ends it. Throws API_UNREACHABLE, and
   * API_ANSWER_TOO_LARGE for an event that is larger than this program reads.
   */
  watch(path: string, signal: AbortSignal): AsyncIterable<unknown>;
  /** Why the last request was not answered; undefined where it was. */
  problem?(): string | undefined;
  close(): void;
}

/** A request is given up when its connection was silent for this long. */
const REQUEST_TIMEOUT_MS = 30_000;
/** The API server gives a request up after 60 s (its flag --request-timeout), and a webhook after 30 s at most. */
const WEBHOOK_TIMEOUT_MS = 65_000;
/**
 * The connections for each kind of requests. Few of the usual ones keep an API server busy; more would only wait in it. A watch keeps its connection for as long as it lasts: with those of requests, a few watches would leave none.
 */
const MAX_SOCKETS = { watching: Infinity, usual: 16, patient: 4, behindWebhooks: 128 } as const;
/** An answer that drips, and is never silent for so long, is given up after this time. */
const WHOLE_MS = 120_000;
/** A watch without changes gets a bookmark about once a minute; it is given up when its connection was silent for this long. */
const WATCH_SILENCE_MS = 150_000;
/** Longer answers are refused, so that large objects cannot fill the memory: about ten objects of etcd's default maximum size. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const UNAUTHORIZED = 401;
/** A name may have several addresses: the next is tried after so long, in which a slow way answers, and a watch is not given up. */
const NEXT_ADDRESS_MS = 4_000;
const NAMES_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const ANSWERS = {
  metadata: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
  table: 'application/json;as=Table;g=meta.k8s.io;v=v1',
} as const;

/** The Content-Type of a patch, as the API server expects it. */
function contentType(patch: Patch | undefined): string {
  if (patch === undefined) return 'application/json';
  return {
    merge: 'application/merge-patch+json',
    strategic: 'application/strategic-merge-patch+json',
    apply: 'application/apply-patch+yaml',
  }[patch.kind];
}

/** The path of the request with the field manager of a server-side apply in its query. */
function withManager({ path, patch }: KubeRequest): string {
  if (patch?.kind !== 'apply') return path;
  return `${path}${path.includes('?') ? '&' : '?'}fieldManager=${encodeURIComponent(patch.manager)}&force=true`;
}

/** The headers of a request, except those of its credentials; `body` is the text that is sent. */
function headersOf(request: KubeRequest, body: string | undefined, userAgent: string): Record<string, string> {
  const headers: Record<string, string> = { 'User-Agent': userAgent };
  const wanted = request.answer === undefined ? 'application/json' : ANSWERS[request.answer];
  headers['Accept'] = request.namesOnly === true ? NAMES_ONLY : wanted;
  if (request.as !== undefined) headers['Impersonate-User'] = request.as;
  if (body !== undefined) {
    headers['Content-Type'] = contentType(request.patch);
    // Node leaves it out of a DELETE: the server would ignore the body and take it for the start of the next request.
    headers['Content-Length'] = String(Buffer.byteLength(body));
  }
  return headers;
}

/** Opens requests to one API server, over connections that stay open between them. */
class ApiServerConnections {
  readonly #access: ClusterAccess;
  readonly #userAgent: string;
  /** Why the last request failed; undefined where it did not. */
  problem: string | undefined;
  readonly #agents = new Map<keyof typeof MAX_SOCKETS, https.Agent>();

  constructor(access: ClusterAccess, userAgent: string) {
    this.#access = access;
    this.#userAgent = userAgent;
  }

  /** Sends a request; resolves when the head of the answer has arrived. Rejects after a silence of `timeoutMs`. */
  async open(request: KubeRequest, timeoutMs: number, signal: AbortSignal): Promise<IncomingMessage> {
    const options: RequestOptions = {};
    // A program may give the credentials, and hang.
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => {
      aborted.reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.race([this.#access.authenticate(options), aborted.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    const { server } = this.#access;
    const base = server?.pathname.replace(/\/$/, '') ?? '';
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const credentials = options.headers as Record<string, string>;
    const headers = { ...credentials, ...headersOf(request, body, this.#userAgent) };
    return await new Promise((resolve, reject) => {
      const call = https.request(new URL(base + withManager(request), server), {
        agent: this.#agentFor(request),
        ...options,
        method: request.method,
        headers,
        signal,
        timeout: timeoutMs,
      });
      call.on('timeout', () => call.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
      call.on('error', reject);
      call.on('response', (response) => {
        this.problem = undefined;
        if (response.statusCode === UNAUTHORIZED) this.#access.refused?.();
        resolve(response);
      });
      call.end(body);
    });
  }

  #agentFor({ watching, behindWebhooks, patient }: KubeRequest): https.Agent {
    const own = patient === true ? 'patient' : 'usual';
    const other = behindWebhooks === true ? 'behindWebhooks' : own;
    const kind = watching === true ? 'watching' : other;
    const agent =
      this.#agents.get(kind) ??
      new https.Agent({
        keepAlive: true,
        maxSockets: MAX_SOCKETS[kind],
        autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
      });
    this.#agents.set(kind, agent);
    return agent;
  }

  /** The error for a request that failed: API_UNREACHABLE, unless it is an error of this program already. */
  failureOf({ method, path }: KubeRequest, error: unknown): unknown {
    const from = this.#access.server?.origin ?? 'the API server';
    const message = `no answer from ${from} to ${method} ${path}: ${describeError(error)}`;
    const isOurs = error instanceof NodemaintError;
    const failure = isOurs ? error : new NodemaintError('API_UNREACHABLE', message, { cause: error });
    this.problem = failure.message;
    return failure;
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }
}

/**
 * Creates a client. `userAgent` names the part of the program in the API server's audit log. Answers, and events of a watch,
 * that have more than `maxBytes` are refused. Each request but a watch is given up after a silence, or, where `wholeMs` is
 * given, after as many milliseconds and not after a silence: never where it is 0.
 */
export function createKubeClient(
  access: ClusterAccess,
  userAgent: string,
  maxBytes: number = MAX_ANSWER_BYTES,
  wholeMs?: number,
): KubeClient {
  const connections = new ApiServerConnections(access, userAgent);
  return {
    send: async (request, signal) => {
      const limit = wholeMs === 0 ? undefined : AbortSignal.timeout(wholeMs ?? WHOLE_MS);
      try {
        const usual = request.behindWebhooks === true ? WEBHOOK_TIMEOUT_MS : REQUEST_TIMEOUT_MS;
        const until = limit === undefined ? signal : AbortSignal.any([signal, limit]);
        const response = await connections.open(request, wholeMs === undefined ? usual : 0, until);
        const text = await readText(response, maxBytes, () => tooLarge(request, 'the answer', maxBytes));
        return believed(request, response, parseJson(text));
      } catch (error) {
        signal.throwIfAborted();
        const late = limit?.aborted === true ? new Error(`not within ${(wholeMs ?? WHOLE_MS) / 1000} s`) : undefined;
        throw connections.failureOf(request, late ?? error);
      }
    },
    watch: async function* (path, signal) {
      const request: KubeRequest = { method: 'GET', path, watching: true };
      try {
        const response = await connections.open(request, WATCH_SILENCE_MS, signal);
        if (response.statusCode !== 200) {
          response.resume();
          yield { type: 'ERROR', object: { code: response.statusCode } };
          return;
        }
        response.setEncoding('utf8');
        const tooLong = (): NodemaintError => tooLarge(request, 'an event', maxBytes);
        const lines = linesOf(response as AsyncIterable<string>, maxBytes, tooLong);
        for await (const line of lines) yield JSON.parse(line);
      } catch (error) {
        signal.throwIfAborted();
        throw connections.failureOf(request, error);
      }
    },
    problem: () => connections.problem,
    close: () => {
      connections.close();
    },
  };
}

/** Reads a whole answer; throws what `tooLong` returns where it has more than `maxBytes`. */
async function readText(response: IncomingMessage, maxBytes: number, tooLong: () => Error): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop destroys the connection, and with it the rest of the answer.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function tooLarge({ method, path }: KubeRequest, what: string, maxBytes: number): NodemaintError {
  return new NodemaintError('API_ANSWER_TOO_LARGE', `${what} of ${method} ${path} has more than ${maxBytes} bytes`);
}

/**
 * The answer, where it is one of an API server by its type and its form, and not by its status alone: a proxy or the page of a
 * login that answers in its place says nothing of the cluster. Throws where it is none.
 */
function believed({ method }: KubeRequest, response: IncomingMessage, body: unknown): KubeResponse {
  const { statusCode: status = 0, headers } = response;
  const [type] = (headers['content-type'] ?? 'no type').split(';');
  const { kind, apiVersion, message } = (body ?? {}) as Readonly<Record<string, unknown>>;
  // It says in plain words that it has too much to do, or that it does not serve a group.
  const isPlain = type === 'text/plain' && status >= 400 && (status !== 404 || message === '404 page not found\n');
  const isJson = type === 'application/json' && typeof kind === 'string' && typeof apiVersion === 'string';
  const mayBeStatus = method === 'POST' || method === 'DELETE';
  const isFitting = status >= 400 ? kind === 'Status' : mayBeStatus || kind !== 'Status';
  if (isPlain || (isJson && isFitting)) return { status, headers, body };
  throw new Error(`what answers there is no API server by its answer (HTTP ${status}, ${type})`);
}

/** The parsed body; an object with the beginning of the text as its message where that is not JSON, as of a proxy. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text.slice(0, 500) };
  }
}
