/** An API server of a few objects in memory, for parts that send single requests and want to be seen doing so. */
import { once } from 'node:events';
import type { KubeClient, KubeRequest, KubeResponse } from '../../../src/kube/client.ts';

export interface ObjectServer {
  readonly client: KubeClient;
  /** What was asked, as METHOD PATH without the query. */
  readonly asked: string[];
  readonly requests: KubeRequest[];
  /** The bodies of the answers to GET, by path. */
  readonly objects: Map<string, object>;
  /** Answers these requests, METHOD PATH, with a status in place of success. */
  readonly refused: Map<string, number>;
  /** Answers these requests, METHOD PATH, with a status and a body. */
  readonly answers: Map<string, { readonly status: number; readonly body: object }>;
}

/** Answers GET with the objects, and every other request with its own body. */
export function createObjectServer(objects: Readonly<Record<string, object>> = {}): ObjectServer {
  const server: ObjectServer = {
    asked: [],
    requests: [],
    objects: new Map(Object.entries(objects)),
    refused: new Map(),
    answers: new Map(),
    client: {
      send: (request): Promise<KubeResponse> => {
        const [path = ''] = request.path.split('?');
        const what = `${request.method} ${path}`;
        server.asked.push(what);
        server.requests.push(request);
        const answer = server.answers.get(what);
        if (answer !== undefined) return Promise.resolve({ ...answer, headers: {} });
        const found = request.method === 'GET' ? server.objects.get(path) : (request.body ?? {});
        const status = server.refused.get(what) ?? (found === undefined ? 404 : 200);
        return Promise.resolve({ status, headers: {}, body: status === 200 ? found : { message: `HTTP ${status}` } });
      },
      watch: async function* () {},
      close: () => undefined,
    },
  };
  return server;
}

/** The client with watches that bring no event and stay open until they are aborted. */
export function withOpenWatches(client: KubeClient): KubeClient {
  return {
    ...client,
    watch: async function* (_path, signal) {
      if (!signal.aborted) await once(signal, 'abort');
      yield* [];
    },
  };
}
