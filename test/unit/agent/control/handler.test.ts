import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ControlDispatcher, createControlDispatcher } from '../../../../src/agent/control/handler.ts';
import type { ControlRequest } from '../../../../src/agent/control/protocol.ts';
import type { AgentStatus } from '../../../../src/agent/control/status.ts';
import type { ManualRequests } from '../../../../src/agent/static-pods/manual.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';

interface Rig {
  readonly control: ControlDispatcher;
  readonly calls: string[];
  readonly log: ReturnType<typeof createRecordingLog>;
  /** Makes the agent ready. */
  serve(): void;
}

function createRig(): Rig {
  const calls: string[] = [];
  const manual: Partial<ManualRequests> = {
    park: (file) => void calls.push(`park ${file}`),
    restore: (file) => void calls.push(`restore ${file}`),
  };
  const log = createRecordingLog();
  const control = createControlDispatcher({
    manual: manual as ManualRequests,
    log,
    wake: () => void calls.push('wake'),
  });
  const serve = (): void => {
    control.serve({
      status: () => ({ node: 'node-a' }) as AgentStatus,
      trigger: ({ reason, deadlineMs }) => {
        calls.push(`trigger ${reason} ${deadlineMs}`);
        return Promise.resolve('drains');
      },
      cancel: () => {
        calls.push('cancel');
        return Promise.resolve('canceled');
      },
      release: (reason) => void calls.push(`release ${reason}`),
    });
  };
  return { control, calls, log, serve };
}

describe('the commands of the control socket', () => {
  it('a manual request is taken before the agent is ready, every other command is refused', async () => {
    const { control, calls } = createRig();
    assert.deepEqual(await control.handle({ verb: 'park', file: 'etcd.yaml' }), { done: 'park' });
    const others: readonly ControlRequest[] = [
      { verb: 'status' },
      { verb: 'cancel' },
      { verb: 'trigger', reason: 'r' },
      { verb: 'release', reason: 'r' },
    ];
    for (const request of others) {
      await assert.rejects(async () => control.handle(request), { code: 'CONTROL_SOCKET_UNAVAILABLE' });
    }
    assert.deepEqual(calls, ['park etcd.yaml', 'wake']);
  });

  it('each command calls its part of the agent and wakes the loop', async () => {
    const { control, calls, serve } = createRig();
    serve();
    assert.deepEqual(await control.handle({ verb: 'trigger', reason: 'power', deadlineMs: 60_000 }), {
      done: 'trigger',
      says: 'drains',
    });
    assert.deepEqual(await control.handle({ verb: 'cancel' }), { done: 'cancel', says: 'canceled' });
    await control.handle({ verb: 'release', reason: 'hurry' });
    await control.handle({ verb: 'restore', file: 'etcd.yaml' });
    const commands = ['trigger power 60000', 'cancel', 'release hurry', 'restore etcd.yaml'];
    assert.deepEqual(
      calls,
      commands.flatMap((command) => [command, 'wake']),
    );
  });

  it('what is asked for is in the log', async () => {
    const { control, log, serve } = createRig();
    serve();
    await control.handle({ verb: 'cancel' });
    const told = log.lines.filter((line) => line.includes('told over the control socket'));
    assert.match(told[0] ?? '', /"verb":"cancel"/);
  });

  it('the status is answered without waking the loop', async () => {
    const { control, calls, serve } = createRig();
    serve();
    assert.deepEqual(await control.handle({ verb: 'status' }), { node: 'node-a' });
    assert.deepEqual(calls, []);
  });
});
