import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRequestChecks } from '../../../../src/agent/static-pods/request-checks.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const REQUEST = {
  metadata: { name: 'u-1', namespace: 'default', uid: 'r-1' },
  spec: { target: { pod: { name: 'web-n', uid: 'u-1' } } },
};

describe('the checks of eviction requests', () => {
  it('a request is for this node where its manifest is parked, and is checked once until it is forgotten', () => {
    const parked = [{ namespace: 'default', podName: 'web-n' } as never];
    const checks = createRequestChecks('n', { clock: createSteppingClock(), log: SILENT_LOG });
    assert.equal(checks.isDue(REQUEST), true);
    checks.check([REQUEST], { inPlace: [], ended: [], parked, live: undefined }, new Map());
    assert.deepEqual([checks.verdict(REQUEST)?.kind, checks.isDue(REQUEST)], ['ours', false]);
    checks.keep([]);
    assert.deepEqual([checks.verdict(REQUEST), checks.isDue(REQUEST)], [undefined, true]);
  });
});
