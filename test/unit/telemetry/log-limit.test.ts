import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLogLimit } from '../../../src/telemetry/log-limit.ts';

describe('the limit of the log', () => {
  it('the limit leaves out the further lines about an object within a minute, and none about others', () => {
    let now = 0;
    const limit = createLogLimit(() => now);
    const written = (pod: string, times: number): number =>
      Array.from({ length: times }, () => limit({ pod, reason: `${Math.random()}` }, 'refused')).filter(
        ({ isWritten }) => isWritten,
      ).length;
    assert.equal(written('default/a', 100), 30);
    assert.equal(written('default/b', 30), 30);
    assert.equal(limit({ pod: 'default/a' }, 'evicted').isWritten, true, 'another message');
    now = 60_000;
    assert.deepEqual(limit({ pod: 'default/a' }, 'refused'), { isWritten: true, leftOutBefore: 70 });
    assert.deepEqual(limit({ pod: 'default/a' }, 'refused'), { isWritten: true, leftOutBefore: 0 });
  });

  it('what is asked for again and again over the control socket keeps no other wish out of the log', () => {
    const limit = createLogLimit(() => 0);
    const told = (verb: string): boolean => limit({ verb }, 'told over the control socket').isWritten;
    for (let count = 0; count < 100; count += 1) told('cancel');
    assert.deepEqual([told('cancel'), told('trigger'), told('release')], [false, true, true]);
  });

  it('the limit keeps a bounded number of counts, and still writes a line with another message', () => {
    const limit = createLogLimit(() => 0);
    let written = 0;
    for (let index = 0; index < 60_000; index += 1) if (limit({ pod: `p-${index}` }, 'x').isWritten) written += 1;
    assert.equal(written, 50_000 + 30);
    assert.equal(limit({}, 'y').isWritten, true);
  });
});
