import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LifecycleRequest } from '../../../../src/api/lifecycle.ts';
import { createAttention } from '../../../../src/controller/lifecycle/attention.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';
import { eviction, request, turns } from '../../decide/lifecycle/objects.ts';

const KEY = 'shop/x';

function withGenerations(generation: number, observedGeneration?: number): LifecycleRequest {
  const known = request();
  return {
    ...known,
    metadata: { ...known.metadata, generation },
    ...(observedGeneration === undefined ? {} : { status: { observedGeneration } }),
  };
}

describe('whether controllers of lifecycle.k8s.io work on the requests of drains', () => {
  it('a request that no controller looks at is left after a minute, and others are asked for in the older dialect', () => {
    const clock = createSteppingClock();
    const attention = createAttention({ clock, log: SILENT_LOG });
    assert.equal(attention.inMs(KEY, withGenerations(1), undefined), 60_000);
    clock.pass(59_000);
    assert.deepEqual([attention.inMs(KEY, withGenerations(1), undefined), attention.isMissing()], [1_000, false]);
    clock.pass(1_000);
    assert.deepEqual([attention.inMs(KEY, withGenerations(1), undefined), attention.isMissing()], [0, true]);
    clock.pass(10 * 60_000);
    assert.equal(attention.isMissing(), false);
  });

  it('a request that was left stays so when it is withdrawn, until a controller has looked at it', () => {
    const clock = createSteppingClock();
    const attention = createAttention({ clock, log: SILENT_LOG });
    attention.inMs(KEY, withGenerations(1), undefined);
    clock.pass(60_000);
    attention.inMs(KEY, withGenerations(1), undefined);
    const withdrawn = (observed?: number): LifecycleRequest => {
      const known = withGenerations(2, observed);
      return { ...known, spec: { ...known.spec, intent: 'Withdrawn' } };
    };
    assert.equal(attention.inMs(KEY, withdrawn(), undefined), 0);
    assert.equal(attention.inMs(KEY, withdrawn(2), undefined), Infinity);
    assert.equal(attention.inMs(KEY, withGenerations(3, 2), undefined), 60_000);
  });

  it('the minute begins again with each answer of a controller', () => {
    const clock = createSteppingClock();
    const attention = createAttention({ clock, log: SILENT_LOG });
    const working = eviction(turns('Active', 'Inactive', { startTime: new Date(clock.now()).toISOString() }));
    attention.inMs(KEY, withGenerations(1), undefined);
    clock.pass(50_000);
    assert.ok(attention.inMs(KEY, withGenerations(1, 1), working) > 60_000);
    clock.pass(50_000);
    assert.equal(attention.inMs(KEY, withGenerations(2, 1), working), 60_000);
    assert.equal(attention.isMissing(), false);
  });
});
