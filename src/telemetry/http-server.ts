import { createServer, type ServerResponse } from 'node:http';
import { NodemaintError } from '../errors.ts';
import type { Log } from './log.ts';
import { limitConnections, SERVER_TIMES } from './server-limits.ts';

const MAX_CONNECTIONS = 64;
/** More connections from one address are closed, so that a client of the metrics cannot block the probes of the kubelet. */
const MAX_OF_ONE_ADDRESS = 16;

/** Metrics in the text format of Prometheus. */
export interface MetricsText {
  text(): Promise<string>;
  readonly contentType: string;
}

/** The dependencies of the HTTP server. */
interface HttpDependencies {
  readonly metrics: MetricsText;
  /** Why this process is not ready; undefined where it is. */
  readonly notReady: () => string | undefined;
  readonly log: Log;
}

function answer(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'Content-Type': type });
  response.end(text);
}

/**
 * Serves /metrics, /healthz and /readyz, read-only, at ADDRESS:PORT until the signal aborts. Throws LISTEN_FAILED if the
 * address is in use or does not belong to this machine.
 */
export async function serveHttp(address: string, dependencies: HttpDependencies, signal: AbortSignal): Promise<void> {
  const { metrics, notReady, log } = dependencies;
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  const server = createServer(SERVER_TIMES, (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0];
    if (request.method !== 'GET') answer(response, 405, 'only GET\n');
    else if (path === '/healthz') answer(response, 200, 'ok\n');
    else if (path === '/readyz') {
      const why = notReady();
      answer(response, why === undefined ? 200 : 503, `${why ?? 'ok'}\n`);
    } else if (path === '/metrics') {
      metrics.text().then(
        (text) => {
          answer(response, 200, text, metrics.contentType);
        },
        () => {
          answer(response, 500, 'metrics failed\n');
        },
      );
    } else answer(response, 404, 'there are /metrics, /healthz and /readyz\n');
  });
  limitConnections(server, MAX_CONNECTIONS, MAX_OF_ONE_ADDRESS);
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    };
    server.on('error', (error) => {
      reject(new NodemaintError('LISTEN_FAILED', `cannot serve metrics at ${address}`, { cause: error }));
    });
    server.listen({ port: Number(address.slice(colon + 1)), ...(host === '' ? {} : { host }) }, () => {
      log.info({ address }, 'serving metrics');
    });
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });
}
