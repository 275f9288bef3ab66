import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isWayLost, wayOf } from '../../../../src/decide/static-pod/lost-way.ts';
import { MANUAL } from '../../../../src/decide/static-pod/parked.ts';

const MINUTE = 60_000;
const AT = 1_000 * MINUTE;
const PROXY = { file: 'nginx-proxy.yaml', maintenance: 'm', parkedAt: AT, graceSec: 30 };
const ETCD = { ...PROXY, file: 'etcd.yaml', component: 'etcd' } as const;

describe('the way to the API server that a drain has taken away', () => {
  it('etcd, the API server and proxies carry it, else each static pod may; what a person parked stays', () => {
    assert.deepEqual(wayOf([PROXY, ETCD]), [ETCD]);
    assert.deepEqual(wayOf([PROXY, { ...PROXY, maintenance: MANUAL }]), [PROXY]);
  });

  const rows: readonly [string, number, number | undefined, number, boolean][] = [
    ['the API server has been silent for a moment', AT, AT + 30_000, 5, false],
    ['it has been silent for five minutes', AT, AT + 30_000, 6, true],
    ['it has answered long after the pod had ended, and is silent for another reason', AT, AT + 3 * MINUTE, 60, false],
    ['an agent that was started after a boot has not heard it', AT + 10 * MINUTE, undefined, 14, false],
    ['an agent that was started after a boot has not heard it for five minutes', AT + 10 * MINUTE, undefined, 15, true],
  ];
  for (const [when, startedAt, heardAt, minutes, isLost] of rows) {
    it(`it is ${isLost ? '' : 'not '}given back when ${when}`, () => {
      const heard = { now: AT + minutes * MINUTE, startedAt, heardAt, silenceMs: 5 * MINUTE };
      assert.equal(isWayLost([PROXY], heard), isLost);
      assert.equal(isWayLost([], heard), false);
    });
  }
});
