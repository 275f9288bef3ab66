import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { phaseEventOf } from '../../../../src/decide/shutdown/events.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { TransitionName } from '../../../../src/decide/shutdown/transition.ts';
import { DRAINING, SHUTDOWN } from '../../../support/agent/phase-facts.ts';

const WATCHING: Phase = { kind: 'watching' };
const RELEASED: Phase = { kind: 'released', releasedAt: 1, ...SHUTDOWN };
const FORCED: Phase = { ...RELEASED, forced: 'in a hurry' };
const BACK: Phase = { kind: 'recovering', cause: 'boot', ...SHUTDOWN };

const DELETED: Phase = { ...DRAINING, renamed: { from: ['shutdown-node-a-0'], deleted: 1, sinceBootMs: 0 } };
/** Somebody has completed its NodeMaintenance. */
const ALONE: Phase = { ...DRAINING, mode: 'offline', completed: { sinceBootMs: 0 } };
const REFUSED: Phase = { ...DRAINING, mode: 'offline', refusal: 'a webhook cannot be called' };

const cases: [TransitionName, string, Phase, Phase, string][] = [
  ['begin', 'in a node that watches', WATCHING, DRAINING, 'Normal ShutdownHeld wall'],
  ['begin', 'in a node that still recovers', BACK, DRAINING, 'Normal ShutdownHeld wall'],
  ['loseCluster', 'because of a silent API server', DRAINING, { ...DRAINING, mode: 'offline' }, ''],
  ['loseCluster', 'because of a completion', DRAINING, ALONE, 'Warning MaintenanceCompleted'],
  ['loseCluster', 'because of a refusal', DRAINING, REFUSED, 'Warning DrainRefused'],
  ['handOver', 'to the cluster', { ...DRAINING, mode: 'offline' }, DRAINING, ''],
  ['tighten', 'to an earlier deadline', DRAINING, { ...DRAINING, deadline: { at: 1, since: 0 } }, ''],
  ['specify', 'to a reboot', DRAINING, { ...DRAINING, shutdownKind: 'reboot' }, ''],
  ['rename', 'after a deletion', DRAINING, DELETED, 'Warning MaintenanceDeleted'],
  ['rename', 'because the name is taken', DRAINING, { ...DRAINING, maintenance: 'shutdown-node-a-1' }, ''],
  ['finish', 'when the pods have left', DRAINING, RELEASED, 'Normal ShutdownReleased wall'],
  ['force', 'when an operator did not wait', DRAINING, FORCED, 'Warning ShutdownForced wall'],
  ['cancel', 'in mid-drain', DRAINING, { ...BACK, cause: 'canceled' }, 'Normal ShutdownCanceled wall'],
  ['boot', 'after the release', RELEASED, BACK, 'Normal NodeBack'],
  ['boot', 'after a release with pods left', FORCED, BACK, 'Warning BackAfterForced'],
  ['boot', 'in mid-drain', DRAINING, BACK, 'Warning WentDownUndrained'],
  ['settle', 'when everything is back', BACK, WATCHING, 'Normal ShutdownOver'],
];

describe('the event of a transition', () => {
  for (const [name, when, from, to, expected] of cases) {
    it(`is ${expected === '' ? 'none' : `"${expected}"`} for "${name}" ${when}`, () => {
      const event = phaseEventOf('node-a', { name, from, to });
      const found = event === undefined ? '' : `${event.type} ${event.reason}${event.wall ? ' wall' : ''}`;
      assert.equal(found, expected);
      if (event !== undefined) assert.match(event.message, /node-a/i);
    });
  }

  it('names the reason of a forced release, and the pods that a power cut left behind', () => {
    const messageOf = (name: TransitionName, from: Phase, to: Phase): string =>
      phaseEventOf('node-a', { name, from, to })?.message ?? '';
    assert.match(messageOf('force', DRAINING, FORCED), /with pods still there .*in a hurry/);
    assert.match(messageOf('boot', DRAINING, BACK), /went down before its pods had ended/);
    assert.match(messageOf('loseCluster', DRAINING, ALONE), /has completed .*-rs, so the agent goes on .*for 120 s/);
    assert.match(messageOf('rename', DRAINING, DELETED), /has deleted the NodeMaintenance shutdown-node-a-rs/);
  });
});
