import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  chooseDrainer,
  type ControllerLife,
  type DrainerKind,
  isOffline,
} from '../../../../src/decide/shutdown/drainer.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';

const SHUTDOWN = { maintenance: 'm', origin: 'logind', reason: 'r', since: 1, bootId: 'b' } as const;
const WATCHING: Phase = { kind: 'watching' };
const CLUSTER: Phase = { kind: 'draining', mode: 'cluster', ...SHUTDOWN };
const OFFLINE: Phase = { kind: 'draining', mode: 'offline', ...SHUTDOWN };
const RELEASED: Phase = { kind: 'released', mode: 'offline', releasedAt: 2, ...SHUTDOWN };
const RECOVERING: Phase = { kind: 'recovering', mode: 'offline', cause: 'boot', ...SHUTDOWN };

const rows: [string, Phase, ControllerLife, DrainerKind][] = [
  ['a node that no shutdown drains and whose controller is alive', WATCHING, 'alive', 'controller'],
  ['a node that another maintenance drains without a controller', WATCHING, 'dead', 'self'],
  ['a shutdown with a controller', CLUSTER, 'alive', 'controller'],
  ['a shutdown whose controller is not known to be dead yet', CLUSTER, 'unknown', 'controller'],
  ['a shutdown without a controller', CLUSTER, 'dead', 'self'],
  ['a shutdown whose controller does nothing for it', CLUSTER, 'idle', 'self'],
  ['a shutdown without an API server', OFFLINE, 'unknown', 'offline'],
  ['a shutdown without an API server, whatever the Lease showed', OFFLINE, 'alive', 'offline'],
  ['a shutdown without an API server after its controller died', OFFLINE, 'dead', 'offline'],
  ['a released machine, whose offline drain is over', RELEASED, 'dead', 'self'],
  ['a machine that was booted after an offline drain', RECOVERING, 'dead', 'self'],
  ['a machine that was booted after an offline drain and has a controller', RECOVERING, 'alive', 'controller'],
];

describe('chooseDrainer', () => {
  for (const [title, phase, controller, expected] of rows) {
    it(`chooseDrainer gives ${title} to ${expected}`, () => {
      assert.equal(chooseDrainer(phase, controller), expected);
    });
  }
});

describe('isOffline', () => {
  it('isOffline holds for a shutdown that is drained without an API server, and for no other phase', () => {
    const phases = [WATCHING, CLUSTER, OFFLINE, RELEASED, RECOVERING];
    assert.deepEqual(phases.filter(isOffline), [OFFLINE]);
  });
});
