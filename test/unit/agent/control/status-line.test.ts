import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { statusLine } from '../../../../src/agent/control/status-line.ts';
import type { AgentStatus } from '../../../../src/agent/control/status.ts';

describe("the unit's status line", () => {
  const waiting = { on: 'kubelet', message: '' };
  const status = { summary: 'shutdown held' } as AgentStatus;

  it('names what has been waited for the longest, and how many more', () => {
    const waitingFor = [
      { what: 'default/web', on: waiting.on, message: waiting.message },
      { ...waiting, what: 'default/db', since: 2_000 },
      { ...waiting, what: 'default/log', since: 1_000 },
    ];
    const line = statusLine({ ...status, waitingFor });
    assert.equal(line, 'shutdown held; waiting for default/log (kubelet) since 1970-01-01T00:00:01Z and 2 more');
  });

  it('is the phase alone where nothing is waited for', () => {
    assert.equal(statusLine({ ...status, waitingFor: [] }), 'shutdown held');
  });
});
