/** What -v says of the requests to the API server, in the levels of kubectl. */
import type { KubeClient, KubeRequest, KubeResponse } from '../../kube/client.ts';
import { describeError } from '../../errors.ts';

/** From this level on each request is shown with its status and its time. */
export const REQUESTS_SHOWN = 6;

/** The same client, which says the method, address, status and time of each request by `say`. */
export function withShownRequests(client: KubeClient, server: URL, say: (text: string) => void): KubeClient {
  const addressOf = (path: string): string => `${server.origin}${server.pathname.replace(/\/$/, '')}${path}`;
  const since = (begun: number): string => `in ${Math.round(performance.now() - begun)} ms`;
  return {
    send: async (request: KubeRequest, signal: AbortSignal): Promise<KubeResponse> => {
      const what = `${request.method} ${addressOf(request.path)}`;
      const begun = performance.now();
      try {
        const response = await client.send(request, signal);
        say(`${what} ${response.status} ${since(begun)}\n`);
        return response;
      } catch (error) {
        if (!signal.aborted) say(`${what} failed ${since(begun)}: ${describeError(error)}\n`);
        throw error;
      }
    },
    watch: (path, signal) => {
      say(`GET ${addressOf(path)} begins a watch\n`);
      return client.watch(path, signal);
    },
    close: () => {
      client.close();
    },
  };
}
