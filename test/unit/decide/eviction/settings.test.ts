import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Lease } from '../../../../src/api/lease.ts';
import { EVICTION_SETTINGS_ANNOTATION } from '../../../../src/api/names.ts';
import {
  DEFAULT_EVICTION_SETTINGS,
  evictionSettingsOf,
  settingsAnnotations,
} from '../../../../src/decide/eviction/settings.ts';

function leaseWith(text: string): Lease {
  return { metadata: { name: 'nodemaint-controller', annotations: { [EVICTION_SETTINGS_ANNOTATION]: text } } };
}

describe('the settings of evictions on the Lease of the controller', () => {
  it('an agent reads what the controller has written', () => {
    const settings = { takeOverMs: 1_000, promiseMs: 0, promiseWords: ['Migration started'] };
    const annotations = settingsAnnotations(settings);
    assert.deepEqual(evictionSettingsOf({ metadata: { name: 'l', annotations } }), settings);
  });

  const unreadable: readonly [string, Lease | undefined][] = [
    ['no Lease', undefined],
    ['the Lease of an older controller', { metadata: { name: 'l' } }],
    ['no JSON', leaseWith('{')],
    ['another shape', leaseWith('{"takeOverMs":"1s","promiseMs":-1,"promiseWords":[1,""]}')],
    ['a text without an end', leaseWith(JSON.stringify({ promiseWords: ['x'.repeat(20_000)] }))],
  ];
  for (const [what, lease] of unreadable) {
    it(`the defaults hold where there is ${what}`, () => {
      assert.deepEqual(evictionSettingsOf(lease), DEFAULT_EVICTION_SETTINGS);
    });
  }

  it('a time is at most a week', () => {
    assert.equal(evictionSettingsOf(leaseWith('{"promiseMs":1e300}')).promiseMs, 7 * 86_400_000);
  });
});
