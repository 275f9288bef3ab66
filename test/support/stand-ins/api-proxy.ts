import { readFile } from 'node:fs/promises';
import http from 'node:http';
import https, { type RequestOptions } from 'node:https';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createAuthority } from '../../control-plane/certificates.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { freePort } from '../../control-plane/port.ts';

/** A request that came through the proxy. */
export interface ProxiedRequest {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  /** What was sent; empty for reads. */
  readonly body: string;
  /** Milliseconds since the epoch at which it came. */
  readonly at: number;
  /** What the API server answered; undefined as long as it has not. */
  status?: number;
}

/** Whether a request or its answer goes on, lies there for ever, or ends with the connection. */
export type Verdict = 'pass' | 'hold' | 'reset';

/** Called for the nth write (every request but a GET; the first is 0). */
export interface ProxyHooks {
  /** Before the write is forwarded; without 'pass' the API server never sees it. */
  before?(n: number, request: ProxiedRequest): Verdict;
  /** Once the API server has answered; without 'pass' the client never hears of it. */
  after?(n: number, request: ProxiedRequest): Verdict;
}

/** A reverse proxy in front of the API server, for one client. */
export interface ApiProxy extends AsyncDisposable {
  /** A kubeconfig whose server is the proxy; whatever comes that way has the identity of the proxy's own kubeconfig. */
  readonly kubeconfig: string;
  /** Everything that came, in the order in which it came. */
  readonly requests: readonly ProxiedRequest[];
  /** In force from the next request on. */
  hooks: ProxyHooks;
  /** Keeps back for `ms` what comes on the open watches whose path has this part; nothing is lost. */
  delayWatches(part: string, ms: number): Promise<void>;
  /** Keeps back what comes on the open watches whose path has this part, for good. */
  holdWatches(part: string): void;
  /** No request is answered any more but those that are under way, as by an API server that is gone. */
  goAway(): void;
  /** Ends the open watches whose path has this part, as an API server does every few minutes. */
  endWatches(part: string): void;
}

/** Fields that belong to one connection. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host']);

function endToEnd(headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));
}

async function readAll(stream: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Starts a proxy that ends TLS itself and speaks to the API server with the identity of `kubeconfig`. */
export async function startApiProxy(controlPlane: ControlPlane, kubeconfig: string): Promise<ApiProxy> {
  const authority = await createAuthority(controlPlane.folder);
  const port = await freePort();
  const serving = await authority.server(`api-proxy-${port}`, ['IP:127.0.0.1']);
  const credentials: RequestOptions = {};
  await (await loadClusterAccess(kubeconfig)).authenticate(credentials);
  const agent = new https.Agent({ keepAlive: true });
  const requests: ProxiedRequest[] = [];
  const streams = new Set<{ path: string; answer: http.IncomingMessage; response: http.ServerResponse }>();
  let writes = 0;
  let hooks: ProxyHooks = {};
  let isAway = false;

  /** Sends a request on; the answer's body is still to be read. */
  const forward = async (
    request: http.IncomingMessage,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> =>
    await new Promise((resolve, reject) => {
      const url = new URL(request.url ?? '/', controlPlane.url);
      // Node itself leaves it out of a DELETE.
      const length = body.length > 0 ? { 'content-length': body.length } : {};
      const headers = { ...endToEnd(request.headers), ...length };
      const call = https.request(url, { ...credentials, agent, method: request.method, headers, signal });
      call.on('error', reject);
      call.on('response', resolve);
      call.end(body);
    });

  const serve = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    // A client that is killed takes its watches with it.
    const leaving = new AbortController();
    response.on('close', () => {
      leaving.abort();
    });
    const { method = 'GET', url: path = '/' } = request;
    if (isAway) {
      response.destroy();
      return;
    }
    const body = await readAll(request);
    const record: ProxiedRequest = { method, path, body: body.toString('utf8'), at: Date.now() };
    requests.push(record);
    if (method === 'GET') {
      const answer = await forward(request, body, leaving.signal);
      record.status = answer.statusCode ?? 0;
      response.writeHead(record.status, endToEnd(answer.headers));
      response.flushHeaders();
      answer.on('error', () => response.destroy());
      answer.pipe(response);
      const stream = { path, answer, response };
      streams.add(stream);
      response.on('close', () => streams.delete(stream));
      return;
    }
    const n = writes;
    writes += 1;
    const heed = (verdict: Verdict = 'pass'): boolean => {
      if (verdict === 'reset') response.destroy();
      return verdict === 'pass';
    };
    if (!heed(hooks.before?.(n, record))) return;
    // What has come goes through, even when its sender is killed meanwhile.
    const answer = await forward(request, body, new AbortController().signal);
    const text = await readAll(answer);
    record.status = answer.statusCode ?? 0;
    if (!heed(hooks.after?.(n, record))) return;
    response.writeHead(record.status, endToEnd(answer.headers));
    response.end(text);
  };

  const server = https.createServer(
    {
      cert: await readFile(serving.cert),
      key: await readFile(serving.key),
      // Closing idle connections would race with the client's next request on them.
      keepAliveTimeout: 0,
    },
    (request, response) => {
      serve(request, response).catch(() => response.destroy());
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });

  return {
    kubeconfig: await controlPlane.kubeconfigFor('whoever-uses-the-proxy', [], `https://127.0.0.1:${port}`),
    requests,
    get hooks() {
      return hooks;
    },
    set hooks(next) {
      hooks = next;
    },
    delayWatches: async (part, ms) => {
      const delayed = [...streams].filter(({ path }) => path.includes(part) && path.includes('watch=1'));
      for (const { answer, response } of delayed) answer.unpipe(response);
      await new Promise((resolve) => {
        setTimeout(resolve, ms);
      });
      for (const { answer, response } of delayed) answer.pipe(response);
    },
    holdWatches: (part) => {
      for (const { path, answer, response } of streams) {
        if (path.includes(part) && path.includes('watch=1')) answer.unpipe(response);
      }
    },
    goAway: () => {
      isAway = true;
      server.close();
    },
    endWatches: (part) => {
      for (const { path, answer, response } of streams) {
        if (!path.includes(part) || !path.includes('watch=1')) continue;
        answer.destroy();
        response.end();
      }
    },
    [Symbol.asyncDispose]: async () => {
      await new Promise<void>((resolve) => {
        if (isAway) resolve();
        else
          server.close(() => {
            resolve();
          });
        server.closeAllConnections();
      });
      agent.destroy();
    },
  };
}
