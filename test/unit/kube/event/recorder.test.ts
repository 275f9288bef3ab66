import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubeClient, KubeRequest, KubeResponse } from '../../../../src/kube/client.ts';
import { createEventRecorder, type EventRecorder } from '../../../../src/kube/event/recorder.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';

const MINUTE_MS = 60_000;
const SUBJECT = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1', uid: 'u-1' } };
const TEXT = { type: 'Warning', reason: 'Test', message: 'something happened' } as const;

interface Bench {
  readonly recorder: EventRecorder;
  readonly sent: KubeRequest[];
  /** Lets both clocks and the timers advance. */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock. */
  setClock(byMs: number): void;
  stop(): Promise<void>;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
}

/** A recorder whose time is the test's, and an API server that keeps one Event. */
function startBench(context: TestContext): Bench {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const time = { monotonic: 1_000_000, wall: Date.parse('2026-11-22T12:00:00Z') };
  const sent: KubeRequest[] = [];
  let stored: object | undefined;
  const answer = (request: KubeRequest): KubeResponse => {
    if (request.method === 'POST') stored = request.body as object;
    if (request.method === 'PATCH') stored = { ...stored, ...(request.body as object) };
    return { status: 200, headers: {}, body: stored };
  };
  const client: KubeClient = {
    send: (request) => {
      sent.push(request);
      return Promise.resolve(answer(request));
    },
    watch: () => {
      throw new Error('nothing is watched');
    },
    close: () => undefined,
  };
  const clock = {
    now: () => time.wall,
    monotonic: () => time.monotonic,
    sleep: () => Promise.reject(new Error('nothing sleeps')),
  };
  const stop = new AbortController();
  const recorder = createEventRecorder('test', { client, clock, log: SILENT_LOG });
  const running = recorder.run(stop.signal);
  return {
    recorder,
    sent,
    advance: async (ms) => {
      await settle();
      time.monotonic += ms;
      time.wall += ms;
      context.mock.timers.tick(ms);
      await settle();
    },
    setClock: (byMs) => (time.wall += byMs),
    stop: async () => {
      stop.abort();
      await running;
    },
  };
}

const methodsOf = ({ sent }: Bench): readonly string[] => sent.map(({ method }) => method);

describe('the recorder of Events', () => {
  it('the recorder creates an Event at once, and counts its repetitions up after five minutes', async (context) => {
    const bench = startBench(context);
    bench.recorder.record(SUBJECT, TEXT);
    await bench.advance(MINUTE_MS);
    bench.recorder.record(SUBJECT, TEXT);
    bench.recorder.record(SUBJECT, TEXT);
    await bench.advance(MINUTE_MS);
    assert.deepEqual(methodsOf(bench), ['POST']);
    await bench.advance(3 * MINUTE_MS);
    assert.deepEqual(methodsOf(bench), ['POST', 'PATCH']);
    assert.deepEqual(bench.sent.at(-1)?.body, { count: 3, lastTimestamp: '2026-11-22T12:01:00Z' });
    await bench.stop();
  });

  it('the recorder forgets an Event an hour after its last repetition, also when the wall clock was set back', async (context) => {
    for (const byMs of [0, -2 * 60 * MINUTE_MS]) {
      const bench = startBench(context);
      bench.recorder.record(SUBJECT, TEXT);
      await bench.advance(5 * MINUTE_MS);
      bench.setClock(byMs);
      await bench.advance(60 * MINUTE_MS);
      bench.recorder.record(SUBJECT, TEXT);
      await settle();
      assert.deepEqual(methodsOf(bench), ['POST', 'POST'], 'one that was forgotten is written at once');
      await bench.stop();
      context.mock.timers.reset();
    }
  });

  it('the recorder remembers an Event for an hour, also when the wall clock was set ahead', async (context) => {
    const bench = startBench(context);
    bench.recorder.record(SUBJECT, TEXT);
    await bench.advance(MINUTE_MS);
    bench.setClock(2 * 60 * MINUTE_MS);
    await bench.advance(58 * MINUTE_MS);
    bench.recorder.record(SUBJECT, TEXT);
    await bench.advance(0);
    assert.deepEqual(methodsOf(bench), ['POST', 'PATCH'], 'its count is increased');
    await bench.stop();
  });

  it('the recorder has no timer for Events that are written and not repeated', async (context) => {
    const bench = startBench(context);
    const started = context.mock.method(globalThis, 'setTimeout').mock;
    for (let index = 0; index < 200; index += 1) {
      bench.recorder.record({ ...SUBJECT, metadata: { name: `worker-${index}`, uid: `${index}` } }, TEXT);
    }
    for (let turn = 0; turn < 20; turn += 1) await settle();
    const names = bench.sent.flatMap(({ body }) => JSON.stringify({ body }).match(/"name":"worker-\d+"/) ?? []);
    assert.equal(new Set(names).size, 200);
    assert.equal(started.callCount(), 0);
    await bench.stop();
  });

  it('the recorder leaves out what is too much of one object in a minute, and nothing of others', async (context) => {
    const bench = startBench(context);
    for (let index = 0; index < 200; index += 1) bench.recorder.record(SUBJECT, { ...TEXT, message: `${index}` });
    bench.recorder.record({ ...SUBJECT, metadata: { ...SUBJECT.metadata, name: 'other' } }, TEXT);
    for (let turn = 0; turn < 20; turn += 1) await settle();
    const created = (): number => {
      const posts = bench.sent.filter(({ method }) => method === 'POST');
      return new Set(posts.map(({ body }) => (body as { readonly message: string }).message)).size;
    };
    assert.equal(created(), 31);
    await bench.advance(MINUTE_MS);
    bench.recorder.record(SUBJECT, { ...TEXT, message: 'later' });
    await settle();
    assert.equal(created(), 32);
    await bench.stop();
  });
});
