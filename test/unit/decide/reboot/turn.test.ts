import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEADLINE_ANNOTATION, FORCE_ANNOTATION, SHUTDOWN_KIND_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance, Stage } from '../../../../src/api/node-maintenance.ts';
import {
  goesDownNow,
  isBeforeItsTurn,
  nodeGoneForGood,
  rebootNodeOf,
  takesTurns,
} from '../../../../src/decide/reboot/turn.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { byName, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const N1 = { name: 'n1' };

function shutdown(annotations: Record<string, string> = {}, stage: Stage = 'Drain', agent = 'n1'): NodeMaintenance {
  return ownMaintenanceOf(agent, { annotations }, { stage, nodeSelector: byName('n1') });
}

describe('a machine that goes down', () => {
  const kinds: readonly (readonly [string, boolean])[] = [
    ['poweroff', false],
    ['halt', false],
    ['reboot', true],
    ['kexec', true],
    ['soft-reboot', true],
    ['', true],
    ['Poweroff', true],
    ['x'.repeat(10_000), true],
  ];
  for (const [text, comesBack] of kinds) {
    it(`a machine ${comesBack ? 'comes' : 'does not come'} back with the kind "${text.slice(0, 20)}"`, () => {
      const own = shutdown({ [SHUTDOWN_KIND_ANNOTATION]: text });
      assert.equal(rebootNodeOf(own), comesBack ? 'n1' : undefined);
      assert.equal(nodeGoneForGood(own), comesBack ? undefined : 'n1');
      assert.equal(takesTurns(own, NOW), comesBack);
      assert.equal(isBeforeItsTurn(own, N1), comesBack);
    });
  }

  it('a machine whose kind nothing names counts as one that comes back', () => {
    assert.equal(rebootNodeOf(shutdown()), 'n1');
    assert.equal(nodeGoneForGood(shutdown()), undefined);
  });

  it('a machine with little time, or that is forced, waits for nobody; a deadline that is far away is none', () => {
    const due = (afterMin: number): NodeMaintenance =>
      shutdown({ [DEADLINE_ANNOTATION]: rfc3339(NOW + afterMin * 60_000) });
    assert.equal(takesTurns(due(2), NOW), false);
    assert.equal(takesTurns(due(-60), NOW), false);
    assert.equal(takesTurns(due(60), NOW), true);
    assert.equal(takesTurns(due(60), NOW + 46 * 60_000), false, 'when it has come near');
    assert.equal(takesTurns(shutdown({ [DEADLINE_ANNOTATION]: '2099-01-01T00:00:00Z' }), NOW), true);
    assert.equal(takesTurns(shutdown({ [DEADLINE_ANNOTATION]: 'tomorrow' }), NOW), true);
    assert.equal(takesTurns(shutdown({ [FORCE_ANNOTATION]: 'true' }), NOW), false);
  });

  it('a machine has its turn when the drain of its node has begun, whatever targets the status has', () => {
    const drainTargets = [{ podType: 'Static', podPriority: 2_147_483_647 }] as const;
    const waiting = { ...shutdown(), status: { nodeStatuses: [{ nodeRef: N1, drainTargets }] } };
    assert.equal(isBeforeItsTurn(waiting, N1), true);
    assert.equal(goesDownNow(waiting), undefined);
    // Version 0.2.0 writes the position alone.
    for (const begin of [{ drainStartTime: rfc3339(NOW) }, { drainPlanPosition: 1 }]) {
      const begun = { ...shutdown(), status: { nodeStatuses: [{ nodeRef: N1, drainTargets, ...begin }] } };
      assert.equal(isBeforeItsTurn(begun, N1), false);
      assert.equal(goesDownNow(begun), 'n1');
    }
  });

  it('no machine goes down with the maintenance of a person, or of another stage', () => {
    for (const other of [shutdown({}, 'Drain', 'n2'), shutdown({}, 'Cordon'), shutdown({}, 'Complete')]) {
      assert.equal(takesTurns(other, NOW), false);
      assert.equal(goesDownNow(other), undefined);
      assert.equal(nodeGoneForGood(other), undefined);
    }
  });
});
