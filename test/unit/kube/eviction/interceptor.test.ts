import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest, EvictionRequestStatus } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { type Interceptor, reportProgress } from '../../../../src/kube/eviction/interceptor.ts';
import { InterceptorLoop } from '../../../../src/kube/eviction/interceptor-loop.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';

const ME = 'me.example.com';
const NEXT = 'next.example.com';
const KEY = 'default/u';
const POD: Pod = { metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec: {} };

function request(active: string, uid = 'r-1', status: EvictionRequestStatus = {}): EvictionRequest {
  return {
    metadata: { name: 'u', namespace: 'default', uid },
    spec: { target: { pod: { name: 'web', uid: 'u' } }, requesters: [{ name: 'x.example.com' }] },
    status: { activeInterceptors: [active], interceptors: [{ name: ME, message: '' }], ...status },
  };
}

const CANCELED: EvictionRequestStatus = {
  activeInterceptors: [],
  conditions: [{ type: 'Canceled', status: 'True', reason: 'x', message: '', lastTransitionTime: '' }],
};

/** A loop over one request that the test changes, and what happened in it. */
class Rig {
  request: EvictionRequest | undefined = request(ME);
  readonly seen: string[] = [];
  readonly #loop: InterceptorLoop;

  constructor(interceptor: Partial<Interceptor> = {}) {
    const own: Interceptor = {
      name: ME,
      act: ({ metadata }) => {
        this.seen.push(`act ${metadata.uid}`);
        return Promise.resolve({ kind: 'working', message: 'At work.' });
      },
      over: ({ metadata }) => {
        this.seen.push(`over ${metadata.uid}`);
        return Promise.resolve();
      },
      ...interceptor,
    };
    this.#loop = new InterceptorLoop(own, {
      client: { send: () => Promise.resolve({ status: 404, headers: {}, body: {} }) } as never,
      clock: createSteppingClock(),
      log: { ...SILENT_LOG, warn: (subject: { active?: string }) => void this.seen.push(`lost to ${subject.active}`) },
      request: () => this.request,
      pod: () => Promise.resolve(POD),
    });
  }

  run(): ReturnType<InterceptorLoop['reconcile']> {
    return this.#loop.reconcile(KEY, AbortSignal.timeout(10_000));
  }

  change(to: EvictionRequest | undefined): void {
    this.request = to;
    this.#loop.changed(KEY);
  }
}

describe('the report of an interceptor', () => {
  it('the report has as many characters as the API server takes, and is not written again and again', async () => {
    const written: string[] = [];
    const send = ({ body }: { body?: unknown }): Promise<object> => {
      const [entry] = (body as EvictionRequest).status?.interceptors ?? [];
      written.push(entry?.message ?? '');
      const stored = request(ME, 'r-1', { interceptors: [entry ?? { name: ME }] });
      return Promise.resolve({ status: 200, headers: {}, body: stored });
    };
    const client = { send } as never;
    const step = { kind: 'working', message: `${'x'.repeat(4_095)}𝒳${'y'.repeat(1_000)}` } as const;
    const report = { name: ME, step: step, now: Date.UTC(2026, 0, 1) };
    const after = await reportProgress(client, request(ME), report, AbortSignal.timeout(10_000));
    assert.deepEqual(written, [`${'x'.repeat(4_095)}𝒳`]);
    await reportProgress(client, after ?? request(ME), report, AbortSignal.timeout(10_000));
    assert.equal(written.length, 1);
  });
});

describe('the loop of an interceptor', () => {
  it('the loop ends its work on a request that is deleted, once', async () => {
    const rig = new Rig();
    await rig.run();
    rig.change(undefined);
    await rig.run();
    await rig.run();
    assert.deepEqual(rig.seen, ['act r-1', 'over r-1']);
  });

  it('the loop ends its work on a deleted request before it begins with the one that took its name', async () => {
    const rig = new Rig();
    await rig.run();
    rig.change(request(ME, 'r-2'));
    await rig.run();
    assert.deepEqual(rig.seen, ['act r-1', 'over r-1', 'act r-2']);
  });

  it('the loop tries again where the end of its work failed', async () => {
    let isBroken = true;
    const over = (): Promise<void> => (isBroken ? Promise.reject(new Error('away')) : Promise.resolve());
    const rig = new Rig({ over });
    await rig.run();
    rig.change(undefined);
    await assert.rejects(rig.run(), /away/);
    isBroken = false;
    await rig.run();
  });

  it('the loop ends its work for a request that is canceled after it has completed', async () => {
    const rig = new Rig({ act: () => Promise.resolve({ kind: 'completed', message: 'Done.' }) });
    await rig.run();
    rig.change(request(NEXT));
    await rig.run();
    assert.deepEqual(rig.seen, [], 'who has completed has lost nothing');
    rig.change(undefined);
    await rig.run();
    assert.deepEqual(rig.seen, ['over r-1']);
  });

  it('the loop reports once that another interceptor became active, and does not end what it has begun', async () => {
    const rig = new Rig();
    await rig.run();
    rig.change(request(NEXT));
    await rig.run();
    await rig.run();
    assert.deepEqual(rig.seen, ['act r-1', `lost to ${NEXT}`]);
    rig.change(request(NEXT, 'r-1', CANCELED));
    await rig.run();
    assert.deepEqual(rig.seen.slice(2), ['over r-1']);
  });

  for (const [what, to] of [
    ['another is active', request(NEXT)],
    ['the request is canceled', request(ME, 'r-1', CANCELED)],
    ['the request is deleted', undefined],
  ] as const) {
    it(`the loop aborts the work under way when ${what}`, async () => {
      const rig = new Rig({
        act: (_request, _pod, signal) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
      });
      const running = rig.run();
      await new Promise(setImmediate);
      rig.change(request(ME));
      rig.change(to);
      assert.deepEqual(await running, {});
    });
  }
});
