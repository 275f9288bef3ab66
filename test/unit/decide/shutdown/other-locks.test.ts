import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { delayOfOthersMs, type DelayLock, isOwnLock, otherLocks } from '../../../../src/decide/shutdown/other-locks.ts';

const LOCK: DelayLock = { what: 'shutdown:sleep', who: 'nodemaint', why: 'w', mode: 'delay', uid: 0, pid: 1 };

describe('the locks of others', () => {
  it("the locks of others are those that delay a shutdown and are not the agent's", () => {
    const others: readonly DelayLock[] = [
      { ...LOCK, who: 'kubelet' },
      { ...LOCK, uid: 1000 },
    ];
    const harmless: readonly DelayLock[] = [
      { ...LOCK, who: 'NetworkManager', what: 'sleep' },
      { ...LOCK, who: 'other', mode: 'block' },
    ];
    assert.deepEqual(otherLocks([LOCK, ...others, ...harmless], 0), others);
    assert.ok(isOwnLock(LOCK, 0));
    assert.ok(!isOwnLock(LOCK, 1000));
  });

  it('the locks of others may delay for as long as without the drop-in of the agent', () => {
    const own = { path: '/etc/systemd/logind.conf.d/zz-nodemaint.conf', text: '[Login]\nInhibitDelayMaxSec=604800\n' };
    const upgrades = { path: '/usr/lib/systemd/logind.conf.d/upgrades.conf', text: '[Login]\nInhibitDelayMaxSec=30\n' };
    assert.equal(delayOfOthersMs([own]), 5_000);
    assert.equal(delayOfOthersMs([]), 5_000);
    assert.equal(delayOfOthersMs([upgrades, own]), 30_000);
  });
});
