import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { drainsAlone, type ControllerLife, isOffline } from '../../../../src/decide/shutdown/drainer.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';

const SHUTDOWN = { maintenance: 'm', origin: 'logind', reason: 'r', since: 1, bootId: 'b' } as const;
const WATCHING: Phase = { kind: 'watching' };
const CLUSTER: Phase = { kind: 'draining', mode: 'cluster', ...SHUTDOWN };
const OFFLINE: Phase = { kind: 'draining', mode: 'offline', ...SHUTDOWN };
const RELEASED: Phase = { kind: 'released', mode: 'offline', releasedAt: 2, ...SHUTDOWN };
const RECOVERING: Phase = { kind: 'recovering', mode: 'offline', cause: 'boot', ...SHUTDOWN };

describe('drainsAlone', () => {
  it('drainsAlone holds where no controller is alive, or does anything, and not where nothing is known of it', () => {
    const lives: readonly ControllerLife[] = ['alive', 'unknown', 'dead', 'idle'];
    assert.deepEqual(lives.filter(drainsAlone), ['dead', 'idle']);
  });
});

describe('isOffline', () => {
  it('isOffline holds for a shutdown that is drained without an API server, and for no other phase', () => {
    const phases = [WATCHING, CLUSTER, OFFLINE, RELEASED, RECOVERING];
    assert.deepEqual(phases.filter(isOffline), [OFFLINE]);
  });
});
