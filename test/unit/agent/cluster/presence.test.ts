import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AgentPresence } from '../../../../src/agent/cluster/presence.ts';
import { AGENT_STATUS_ANNOTATION } from '../../../../src/api/names.ts';
import { readPresence } from '../../../../src/decide/presence/presence.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createObjectServer, type ObjectServer } from '../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const HELD = { phase: 'watching', lock: 'held', reason: '' } as const;

interface Running {
  readonly server: ObjectServer;
  /** What was written, in order. */
  words(): readonly string[];
}

/** Runs a presence for this long, by a clock on which waiting takes no time. */
async function runFor(
  ms: number,
  refusedBy?: number,
  fault?: string,
): Promise<Running & { readonly lines: readonly string[] }> {
  const server = createObjectServer();
  if (refusedBy !== undefined) server.refused.set('PATCH /api/v1/nodes/n', refusedBy);
  const stepping = createSteppingClock();
  const end = new AbortController();
  const until = stepping.monotonic() + ms;
  let waiting = 0;
  const clock = {
    ...stepping,
    // Several wait at once: only the shortest wait moves the clock.
    sleep: async (forMs: number, signal: AbortSignal): Promise<void> => {
      const at = stepping.monotonic() + forMs;
      waiting += 1;
      while (stepping.monotonic() < at) {
        await new Promise((resolve) => setImmediate(resolve));
        signal.throwIfAborted();
        stepping.pass(1_000 / waiting);
        if (stepping.monotonic() >= until) end.abort();
      }
      waiting -= 1;
      signal.throwIfAborted();
    },
  };
  const log = createRecordingLog();
  const dependencies = { client: server.client, clock, log, nodeName: 'n', onChange: () => undefined };
  const presence = new AgentPresence(dependencies, {
    readDoctor: () =>
      fault === undefined ? Promise.resolve({ doctor: 'warn', checks: ['runtime'] }) : Promise.reject(new Error(fault)),
    config: 'c0ffee',
  });
  presence.show(HELD);
  presence.show(HELD);
  await presence.run(end.signal);
  const words = (): readonly string[] =>
    server.requests.map(({ body }) => {
      const { annotations } = (body as { metadata: { annotations: Record<string, string> } }).metadata;
      const { phase, doctor, checks, config } = readPresence(annotations[AGENT_STATUS_ANNOTATION] ?? '') ?? {};
      return `${phase} ${doctor} ${checks?.join() ?? ''} ${config}`;
    });
  return { server, words, lines: log.lines };
}

describe('the presence on the Node object', () => {
  it('an agent that ends in its first seconds writes nothing', async () => {
    assert.deepEqual((await runFor(3_000)).server.asked, []);
  });

  it('an agent writes at its start, when its checks have run, each hour, and at its end', async () => {
    const { server, words } = await runFor(3 * 3_600_000);
    assert.deepEqual(new Set(server.asked), new Set(['PATCH /api/v1/nodes/n']));
    const [first, second] = words();
    assert.deepEqual(
      [first, second, words().at(-1)],
      ['watching unknown  c0ffee', 'watching warn runtime c0ffee', 'stopped warn runtime c0ffee'],
    );
    assert.ok(server.asked.length >= 5 && server.asked.length <= 8, String(server.asked.length));
  });

  it('checks that cannot be run are tried again, and the reason is logged once', async () => {
    const { words, lines } = await runFor(30 * 60_000, undefined, 'a system error');
    assert.deepEqual(new Set(words()), new Set(['watching unknown  c0ffee', 'stopped unknown  c0ffee']));
    assert.equal(lines.length, 1);
  });

  it('a refused write is tried again each minute, logged once, and not followed by a last one', async () => {
    const { server, lines } = await runFor(10 * 60_000, 403);
    assert.ok(server.asked.length >= 5 && server.asked.length <= 11, String(server.asked.length));
    assert.equal(lines.length, 1);
  });
});
