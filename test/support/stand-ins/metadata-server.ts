import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A recorded answer. */
export interface Recorded {
  readonly status?: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request as it came. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A metadata service that answers as a cloud's did. */
export interface MetadataServer extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
  /** What is answered by "METHOD PATH"; everything else is 404. */
  answers: Record<string, Recorded | ((request: Received) => Recorded | Promise<Recorded>)>;
}

const NOT_FOUND: Recorded = { status: 404, body: '404 - Not Found' };

async function readAll(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

/** Starts a server; `answers` can be changed at any time. */
export async function startMetadataServer(answers: MetadataServer['answers'] = {}): Promise<MetadataServer> {
  const received: Received[] = [];
  const current = { answers };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://metadata');
    const { method = '', headers } = request;
    const own: Received = {
      method,
      path: url.pathname,
      query: url.searchParams,
      headers,
      body: await readAll(request),
    };
    received.push(own);
    const found = current.answers[`${method} ${url.pathname}`] ?? NOT_FOUND;
    const { status = 200, body = '', headers: more = {} } = typeof found === 'function' ? await found(own) : found;
    response.writeHead(status, more);
    response.end(body);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    get answers() {
      return current.answers;
    },
    set answers(next) {
      current.answers = next;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Answers as EC2's service in version 2 does: a token for a PUT, 401 for everything without one. `paths` is below
 * /latest/meta-data.
 */
export function ec2Answers(
  paths: Readonly<Record<string, string>>,
  token = 'AQAEA-recorded==',
): MetadataServer['answers'] {
  const answers: MetadataServer['answers'] = {
    'PUT /latest/api/token': ({ headers }) =>
      headers['x-aws-ec2-metadata-token-ttl-seconds'] === undefined ? { status: 400 } : { body: token },
  };
  const known = ['spot/instance-action', 'events/maintenance/scheduled', 'autoscaling/target-lifecycle-state'];
  for (const path of known) {
    answers[`GET /latest/meta-data/${path}`] = ({ headers }) => {
      if (headers['x-aws-ec2-metadata-token'] !== token)
        return { status: 401, body: '<html>401 - Unauthorized</html>' };
      const body = paths[path];
      return body === undefined ? NOT_FOUND : { body };
    };
  }
  return answers;
}
