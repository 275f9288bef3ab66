/** What -v says of the requests to the API server, in the levels of kubectl. */
import type { KubeClient, KubeRequest, KubeResponse } from '../../kube/client.ts';
import { describeError } from '../../errors.ts';
import { redactedUnless } from '../secrets/redact.ts';

/** From this level on each request is shown with its status and its time. */
export const REQUESTS_SHOWN = 6;
/** From this level on bodies are shown too, with at most so many characters. */
const BODIES = 8;
const BODY_LENGTHS: ReadonlyMap<number, number> = new Map([
  [8, 1024],
  [9, 10_240],
]);

/** What is shown of a body: without what looks like a secret, and only its beginning. */
async function shownBody(body: unknown, level: number, signal: AbortSignal): Promise<string> {
  const text = (await redactedUnless(JSON.stringify(body), signal)).replaceAll(/\s*\n\s*/g, ' ').trim();
  const most = BODY_LENGTHS.get(level) ?? Infinity;
  return text.length <= most ? text : `${text.slice(0, most)} [cut: ${text.length - most} more characters]`;
}

/**
 * The same client, which says each request by `say`: from level 6 on its method, address, status and time, from level 8 on the
 * bodies as well. Credentials are in headers, which are not shown.
 */
export function withShownRequests(
  client: KubeClient,
  server: URL,
  level: number,
  say: (text: string) => void,
): KubeClient {
  const addressOf = (path: string): string => `${server.origin}${server.pathname.replace(/\/$/, '')}${path}`;
  const since = (begun: number): string => `in ${Math.round(performance.now() - begun)} ms`;
  const sayBody = async (name: string, body: unknown, signal: AbortSignal): Promise<void> => {
    if (level >= BODIES && body !== undefined) say(`  ${name}: ${await shownBody(body, level, signal)}\n`);
  };
  return {
    send: async (request: KubeRequest, signal: AbortSignal): Promise<KubeResponse> => {
      const what = `${request.method} ${addressOf(request.path)}`;
      const begun = performance.now();
      try {
        const response = await client.send(request, signal);
        say(`${what} ${response.status} ${since(begun)}\n`);
        await sayBody('request', request.body, signal);
        await sayBody('answer', response.body, signal);
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
