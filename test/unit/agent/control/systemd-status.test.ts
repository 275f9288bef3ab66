import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentStatus } from '../../../../src/agent/control/status.ts';
import { SystemdStatus, statusLine } from '../../../../src/agent/control/systemd-status.ts';
import { DRAINING } from '../../../support/agent/phase-facts.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

describe('the state that systemd shows', () => {
  it('follows the phase and the storage problem, and is repeated during a drain only', async () => {
    const clock = createSteppingClock();
    const lines: string[] = [];
    let statusReads = 0;
    let turn: string | undefined;
    let isHeld = true;
    let status = { phase: { kind: 'watching' }, summary: 'waiting', waitingFor: [] } as unknown as AgentStatus;
    const systemd = new SystemdStatus((line) => {
      lines.push(line);
      return Promise.resolve();
    }, clock);
    const show = (): Promise<void> =>
      systemd.show(status.phase, JSON.stringify([isHeld, status.storageProblem, turn]), () => {
        statusReads += 1;
        return status;
      });
    await show();
    clock.pass(3_600_000);
    await show();
    assert.deepEqual(lines, ['waiting']);
    status = { ...status, storageProblem: 'disk full' };
    await show();
    status = { ...status, phase: DRAINING, summary: 'draining' };
    await show();
    clock.pass(29_999);
    await show();
    assert.deepEqual(lines.slice(1), ['waiting; disk full', 'draining; disk full']);
    clock.pass(1);
    await show();
    assert.equal(lines.length, 4);
    turn = 'node-a goes first';
    await show();
    await show();
    assert.equal(lines.length, 5, 'that the machine waits for its turn is shown at once');
    isHeld = false;
    await show();
    assert.equal(lines.length, 6, 'that the lock is lost is shown at once');
    assert.equal(statusReads, lines.length, 'the status is put together only to be shown');
  });
});

describe("the unit's status line", () => {
  const waiting = { wait: 'manifest', on: 'kubelet', message: '' } as const;
  const status = { phase: DRAINING, summary: 'shutdown held' } as AgentStatus;

  it('names what has been waited for the longest, and how many more', () => {
    const waitingFor = [
      { ...waiting, what: 'default/web' },
      { ...waiting, what: 'default/db', since: 2_000 },
      { ...waiting, what: 'default/log', since: 1_000 },
    ];
    const line = statusLine({ ...status, waitingFor });
    assert.equal(line, 'shutdown held; waiting for default/log (kubelet) since 1970-01-01T00:00:01Z and 2 more');
  });
});
