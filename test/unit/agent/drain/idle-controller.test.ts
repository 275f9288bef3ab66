import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createIdleController } from '../../../../src/agent/drain/idle-controller.ts';
import type { NodeMaintenance, NodeStatus } from '../../../../src/api/node-maintenance.ts';
import type { ControllerLife, LeaseLife } from '../../../../src/decide/shutdown/drainer.ts';
import type { PhaseEvent } from '../../../../src/decide/shutdown/events.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { maintenanceOf } from '../../../support/maintenance/objects.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const MAX = 300_000;
const SHUTDOWN = { maintenance: 'm', origin: 'logind', reason: 'r', since: 1, bootId: 'b' } as const;
const DRAINING: Phase = { kind: 'draining', mode: 'cluster', ...SHUTDOWN };
const RELEASED: Phase = { kind: 'released', mode: 'cluster', releasedAt: 2, ...SHUTDOWN };

function withStatus(nodeStatus?: Partial<NodeStatus>, name = 'm'): NodeMaintenance {
  const maintenance = maintenanceOf({ stage: 'Drain' }, { name });
  if (nodeStatus === undefined) return maintenance;
  return { ...maintenance, status: { nodeStatuses: [{ nodeRef: { name: 'n1' }, ...nodeStatus }] } };
}

/** The look of an agent, once a minute by the clock of the test. */
function open() {
  const clock = createSteppingClock();
  const events: PhaseEvent[] = [];
  const idle = createIdleController({
    nodeName: 'n1',
    clock,
    requests: { list: () => [] },
    maxIdleMs: MAX,
    announce: (event) => events.push(event),
  });
  const look = (
    maintenance: NodeMaintenance,
    {
      phase = DRAINING,
      life = 'alive',
      isAnswered = true,
    }: { phase?: Phase; life?: LeaseLife; isAnswered?: boolean } = {},
  ): ControllerLife => idle.look({ phase, life, isAnswered, maintenances: [maintenance] });
  const afterMinutes = (minutes: number, ...seen: Parameters<typeof look>): ControllerLife => {
    let found = look(...seen);
    for (let passed = 0; passed < minutes; passed += 1) {
      clock.pass(60_000);
      found = look(...seen);
    }
    return found;
  };
  return { clock, events, idle, look, afterMinutes };
}

describe('a controller that keeps its Lease and does nothing', () => {
  it('the controller is idle when it has done nothing for the whole time, and one Event says so', () => {
    const { events, idle, afterMinutes } = open();
    assert.equal(afterMinutes(4, withStatus()), 'alive');
    assert.equal(afterMinutes(1, withStatus()), 'idle');
    assert.equal(afterMinutes(10, withStatus()), 'idle');
    assert.deepEqual(
      events.map(({ reason, type }) => [reason, type]),
      [['ControllerIdle', 'Warning']],
    );
    assert.match(events[0]?.message ?? '', /for 300 s it has done nothing for the shutdown of node n1 \(m\)/);
    assert.equal(idle.isIdle(), true);
  });

  it('the controller is not idle while its statuses change, or say that other nodes go first', () => {
    const { look, afterMinutes } = open();
    const begun = (podsPendingEvacuation: number): NodeMaintenance =>
      withStatus({ drainPlanPosition: 1, drainMessage: 'Evacuating', podsPendingEvacuation });
    for (const left of [9, 8, 7]) assert.equal(afterMinutes(4, begun(left)), 'alive');
    assert.equal(look(begun(6)), 'alive');
    assert.equal(afterMinutes(600, withStatus({ drainMessage: 'Waiting for its turn' })), 'alive');
  });

  it('the controller that came two minutes late is not idle', () => {
    const { afterMinutes } = open();
    assert.equal(afterMinutes(2, withStatus()), 'alive');
    assert.equal(afterMinutes(4, withStatus({ drainPlanPosition: 1, drainMessage: 'Evacuating' })), 'alive');
  });

  it('the controller that was found idle stays so until the shutdown is over, whatever it writes then', () => {
    const { look, afterMinutes } = open();
    assert.equal(afterMinutes(5, withStatus()), 'idle');
    assert.equal(look(withStatus({ drainPlanPosition: 1, podsEvacuating: 1 })), 'idle');
    assert.equal(look(withStatus({}, 'another'), { isAnswered: false }), 'idle');
    assert.equal(look(withStatus(), { phase: RELEASED }), 'alive');
    assert.equal(look(withStatus()), 'alive');
  });

  it('the time of an idle controller does not run while the API server does not answer, or while none lives', () => {
    for (const pause of [{ isAnswered: false }, { life: 'dead' }] as const) {
      const { look, afterMinutes } = open();
      assert.equal(afterMinutes(4, withStatus()), 'alive');
      look(withStatus(), pause);
      assert.equal(afterMinutes(4, withStatus()), 'alive');
      assert.equal(afterMinutes(1, withStatus()), 'idle');
    }
  });

  it('a Lease that changes and has no holder is no controller either', () => {
    assert.equal(open().afterMinutes(5, withStatus(), { life: 'unknown' }), 'idle');
  });

  it('the time of an idle controller runs for the shutdown of this node alone', () => {
    assert.equal(open().afterMinutes(60, withStatus(undefined, 'of-a-person')), 'alive');
  });
});
