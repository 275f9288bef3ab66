import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AGENT_LABEL, DEADLINE_ANNOTATION, SHUTDOWN_KIND_ANNOTATION } from '../../../../src/api/names.ts';
import type { Stage } from '../../../../src/api/node-maintenance.ts';
import { type GoingDown, goingDownOf } from '../../../../src/decide/shutdown/machine-going-down.ts';
import { byName, maintenanceOf } from '../../../support/maintenance/objects.ts';

function found(annotations: Record<string, string>, stage: Stage = 'Drain', agent = 'n1'): GoingDown | undefined {
  const labels = { [AGENT_LABEL]: agent };
  return goingDownOf(maintenanceOf({ stage, nodeSelector: byName('n1') }, { name: 'm', labels, annotations }));
}

describe('a machine that goes down', () => {
  const kinds: readonly (readonly [string, GoingDown['kind'], boolean])[] = [
    ['poweroff', 'poweroff', false],
    ['halt', 'halt', false],
    ['reboot', 'reboot', true],
    ['kexec', 'kexec', true],
    ['soft-reboot', 'soft-reboot', true],
    ['', 'unknown', false],
    ['Reboot', 'unknown', false],
    ['x'.repeat(10_000), 'unknown', false],
  ];
  for (const [text, kind, comesBack] of kinds) {
    it(`a machine ${comesBack ? 'comes' : 'does not come'} back with the kind "${text.slice(0, 20)}"`, () => {
      assert.deepEqual(found({ [SHUTDOWN_KIND_ANNOTATION]: text }), { node: 'n1', kind, comesBack });
    });
  }

  it('a machine whose kind nothing names is taken for one that does not come back', () => {
    assert.deepEqual(found({}), { node: 'n1', kind: 'unknown', comesBack: false });
  });

  it('a machine has the deadline of its maintenance', () => {
    const annotations = { [SHUTDOWN_KIND_ANNOTATION]: 'reboot', [DEADLINE_ANNOTATION]: '1970-01-01T00:00:02Z' };
    assert.deepEqual(found(annotations), { node: 'n1', kind: 'reboot', comesBack: true, deadline: 2_000 });
    assert.equal(found({ [DEADLINE_ANNOTATION]: 'tomorrow' })?.deadline, undefined);
  });

  it('no machine goes down with the maintenance of a person, or of another stage', () => {
    assert.equal(found({}, 'Drain', 'n2'), undefined);
    assert.equal(found({}, 'Cordon'), undefined);
    assert.equal(found({}, 'Complete'), undefined);
  });
});
