import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMaintenanceTransform } from '../../../../../src/agent/cluster/copy-trimming.ts';
import { createSelfTurns, type SelfTurns } from '../../../../../src/agent/drain/self/turns.ts';
import { DRAINED, type NodeMaintenance } from '../../../../../src/api/node-maintenance.ts';
import { AGENT_LABEL, DEADLINE_ANNOTATION, SHUTDOWN_KIND_ANNOTATION } from '../../../../../src/api/names.ts';
import { byName, maintenanceOf } from '../../../../support/maintenance/objects.ts';
import { createSteppingClock, type SteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const MAX_MS = 600_000;

/** The maintenance of a node that reboots, asked for at the second `at`, with so many pods left once it has begun. */
function reboot(node: string, at: number, left?: number, annotations: Record<string, string> = {}): NodeMaintenance {
  const maintenance = maintenanceOf(
    { stage: 'Drain', nodeSelector: byName(node) },
    {
      name: `shutdown-${node}-0`,
      uid: `uid-${node}`,
      creationTimestamp: new Date(at * 1_000).toISOString(),
      labels: { [AGENT_LABEL]: node },
      annotations: { [SHUTDOWN_KIND_ANNOTATION]: 'reboot', ...annotations },
    },
  );
  if (left === undefined) return maintenance;
  const own = {
    nodeRef: { name: node },
    podsPendingEvacuation: 0,
    podsEvacuating: left,
    drainStartTime: '2026-01-01T00:00:00Z',
  };
  const condition = { type: DRAINED, status: left === 0 ? 'True' : 'False', reason: 'X', message: '' } as const;
  const conditions = [{ ...condition, lastTransitionTime: '' }];
  return { ...maintenance, status: { nodeStatuses: [own], conditions } };
}

/** What the agent of node `n2` knows of the turns; `others` are kept as its watch keeps them. */
function turnsOf(others: readonly NodeMaintenance[], clock: SteppingClock = createSteppingClock()): SelfTurns {
  const list = (): readonly NodeMaintenance[] => others.map(createMaintenanceTransform('n2'));
  return createSelfTurns({ nodeName: 'n2', clock, list, maxRebootMs: MAX_MS });
}

const OWN = reboot('n2', 2);

describe('the turns of machines that reboot without a controller', () => {
  it('a machine waits for one that was asked earlier, and for one that has begun, and says so', () => {
    assert.match(turnsOf([reboot('n1', 1)]).waitOf(OWN) ?? '', /: n1 goes first, because of the missing controller/);
    assert.match(turnsOf([reboot('n3', 3, 4)]).waitOf(OWN) ?? '', /: n3 goes first/);
  });

  it('a machine has its turn when it is the first, alone, or has begun', () => {
    assert.equal(turnsOf([]).waitOf(OWN), undefined);
    assert.equal(turnsOf([reboot('n3', 3)]).waitOf(OWN), undefined);
    assert.equal(turnsOf([reboot('n1', 1, 3)]).waitOf(reboot('n2', 2, 3)), undefined);
  });

  it('a machine waits for none that is complete, and for none that is switched off', () => {
    const complete = { ...reboot('n1', 1, 0), spec: { ...reboot('n1', 1).spec, stage: 'Complete' as const } };
    assert.equal(turnsOf([complete]).waitOf(OWN), undefined);
    assert.equal(turnsOf([reboot('n1', 1, 3, { [SHUTDOWN_KIND_ANNOTATION]: 'poweroff' })]).waitOf(OWN), undefined);
  });

  it('a machine that has a deadline, or is switched off, does not wait', () => {
    const others = [reboot('n1', 1, 3)];
    assert.equal(
      turnsOf(others).waitOf(reboot('n2', 2, undefined, { [DEADLINE_ANNOTATION]: '2026-01-01T00:00:00Z' })),
      undefined,
    );
    assert.equal(turnsOf(others).waitOf(reboot('n2', 2, undefined, { [SHUTDOWN_KIND_ANNOTATION]: 'halt' })), undefined);
  });

  it('a machine no longer waits for one that gets no further, and waits while it does', () => {
    const clock = createSteppingClock();
    const others = [reboot('n1', 1, 3)];
    const turns = turnsOf(others, clock);
    assert.notEqual(turns.waitOf(OWN), undefined);
    clock.pass(MAX_MS - 1);
    others[0] = reboot('n1', 1, 0);
    assert.notEqual(turns.waitOf(OWN), undefined);
    clock.pass(MAX_MS - 1);
    assert.notEqual(turns.waitOf(OWN), undefined);
    clock.pass(1);
    assert.equal(turns.waitOf(OWN), undefined);
  });
});
