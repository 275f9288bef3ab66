import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourcePauseMs } from '../../../../src/decide/notice/source-pause.ts';

describe('the pause between two readings of a source of notices', () => {
  it('the pause doubles with each failure up to a minute', () => {
    const found = [0, 1, 2, 3, 4, 1_000].map((failures) => sourcePauseMs(5_000, failures));
    assert.deepEqual(found, [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  it('the pause of a source that is read rarely does not get shorter by failures', () => {
    assert.equal(sourcePauseMs(300_000, 0), 300_000);
    assert.equal(sourcePauseMs(300_000, 5), 300_000);
  });

  it('the pause after a failure is at least two seconds where the source itself waits for changes', () => {
    assert.equal(sourcePauseMs(0, 0), 0);
    assert.equal(sourcePauseMs(0, 1), 2_000);
  });
});
