import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRelocation } from '../../../../src/agent/static-pods/when-to-find-directory.ts';
import type { Iteration } from '../../../../src/agent/iteration/step.ts';
import { DRAINING } from '../../../support/agent/phase-facts.ts';

const SIGNAL = new AbortController().signal;
const WATCHING = { kind: 'watching' } as const;
const IDLE: Iteration = { phase: WATCHING, transition: undefined };
const BEGINS: Iteration = { phase: DRAINING, transition: { name: 'begin', from: WATCHING, to: DRAINING } };
const GOES_ON: Iteration = { phase: DRAINING, transition: undefined };

describe('the look for the static pod directory', () => {
  it('is taken when a shutdown begins, when another drain begins, and again where it failed', async () => {
    let isDrained = false;
    let isBroken = false;
    let looks = 0;
    const relocate = createRelocation(
      () => isDrained,
      () => {
        looks += 1;
        return isBroken ? Promise.reject(new Error('no such directory')) : Promise.resolve();
      },
    );
    await relocate(IDLE, SIGNAL);
    assert.equal(looks, 0);
    isBroken = true;
    await assert.rejects(relocate(BEGINS, SIGNAL), /no such directory/);
    isBroken = false;
    await relocate(GOES_ON, SIGNAL);
    await relocate(GOES_ON, SIGNAL);
    assert.equal(looks, 2);
    isDrained = true;
    await relocate(IDLE, SIGNAL);
    await relocate(IDLE, SIGNAL);
    assert.equal(looks, 3);
    isDrained = false;
    await relocate(IDLE, SIGNAL);
    isDrained = true;
    await relocate(IDLE, SIGNAL);
    assert.equal(looks, 4);
  });
});
