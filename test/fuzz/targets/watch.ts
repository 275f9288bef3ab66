import type { KubeClient } from '../../../src/kube/client.ts';
import { linesOf } from '../../../src/kube/lines.ts';
import { PODS } from '../../../src/kube/resource.ts';
import { createObjectCache } from '../../../src/kube/watch.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';
import { mutatedText } from '../mutate.ts';
import { type FuzzTarget, textOf } from '../target.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';

const QUIET = (): void => undefined;

const WATCH_LINES = [
  '{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"b","resourceVersion":"5"}}}\n',
  '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}\n{"type":"DELETED","object":{"metadata":{"name":"a"}}}\n',
  '{"type":"ERROR","object":{"code":410}}\n',
];
const MAX_EVENT = 64 * 1024;

/** The stream of a watch, in lines. */
export const WATCH_TARGET: FuzzTarget = {
  name: 'watch-stream',
  inputs: mutatedText(...WATCH_LINES),
  open: () => ({
    run: async (input) => {
      const text = textOf(input);
      const ending = new AbortController();
      const client: KubeClient = {
        send: () =>
          Promise.resolve({ status: 200, headers: {}, body: { metadata: { resourceVersion: '1' }, items: [] } }),
        watch: async function* () {
          const half = Math.floor(text.length / 2);
          const chunks = (async function* () {
            yield text.slice(0, half);
            await Promise.resolve();
            yield text.slice(half);
          })();
          for await (const line of linesOf(chunks, MAX_EVENT, () => new Error('too large')))
            yield JSON.parse(line) as unknown;
        },
        close: QUIET,
      };
      const clock = createSteppingClock();
      const sleep = (): Promise<void> => {
        ending.abort();
        return Promise.resolve();
      };
      const cache = createObjectCache({ resource: PODS }, QUIET, {
        client,
        clock: { ...clock, sleep },
        log: SILENT_LOG,
      });
      await cache.run(ending.signal);
      for (const { metadata } of cache.list())
        if (cache.get(`${metadata.namespace}/${metadata.name}`) === undefined && metadata.namespace !== undefined)
          throw new Error('kept without its key');
    },
  }),
};
