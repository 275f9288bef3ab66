import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InterceptorSilence } from '../../../../../src/agent/drain/self/interceptor-silence.ts';
import type { EvictionRequest } from '../../../../../src/api/eviction-request.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const MINUTE = 60_000;
const POD = { metadata: { name: 'web', uid: 'uid-web' }, spec: {} };

/** A request whose active interceptor reported then. */
function requestAt(heartbeatTime: string, name = 'x.example.com'): EvictionRequest {
  return {
    metadata: { name: 'uid-web' },
    spec: { target: { pod: { name: 'web', uid: 'uid-web' } } },
    status: { activeInterceptors: [name], interceptors: [{ name, heartbeatTime }] },
  };
}

describe('the silence of an interceptor', () => {
  it('lasts 20 minutes at most, whatever is done to the clock', () => {
    const clock = createSteppingClock();
    const silence = new InterceptorSilence(clock);
    const leftMs = (): number => silence.until(POD, requestAt('1')) - clock.now();
    assert.equal(leftMs(), 20 * MINUTE);
    clock.pass(15 * MINUTE);
    clock.set(365 * 24 * 60 * MINUTE);
    assert.equal(leftMs(), 5 * MINUTE);
    silence.forget();
    assert.equal(leftMs(), 20 * MINUTE);
  });

  it('begins anew with each report, and with the next interceptor', () => {
    const clock = createSteppingClock();
    const silence = new InterceptorSilence(clock);
    const signs = [undefined, requestAt('1'), requestAt('2'), requestAt('2', 'y.example.com')];
    for (const request of signs) {
      assert.equal(silence.until(POD, request) - clock.now(), 20 * MINUTE);
      clock.pass(15 * MINUTE);
    }
  });
});
