import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, it } from 'node:test';
import { createAnnouncer } from '../../../../src/agent/shutdown/announce.ts';
import type { PhaseEvent } from '../../../../src/decide/shutdown/events.ts';
import type { EventRecorder } from '../../../../src/kube/event/recorder.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';

const SIGNAL = AbortSignal.timeout(60_000);
const BEGIN: PhaseEvent = { type: 'Normal', reason: 'DrainBegan', message: 'draining the node', wall: false };
const FORCED: PhaseEvent = { type: 'Warning', reason: 'DrainForced', message: 'pods are left', wall: false };

describe('the announcer', () => {
  it('the announcer writes a warning as an error of the log, and anything else as information', () => {
    const log = createRecordingLog();
    const announce = createAnnouncer({ nodeName: 'node-a', events: undefined, wall: false, log }, SIGNAL);
    announce(BEGIN);
    announce(FORCED);
    assert.deepEqual(log.lines, [
      'info draining the node {"reason":"DrainBegan"}',
      'error pods are left {"reason":"DrainForced"}',
    ]);
  });

  it('the announcer writes an Event of the Node as kubelets do, with its name as the UID', () => {
    const recorded: unknown[] = [];
    const events = { record: (...event: readonly unknown[]) => void recorded.push(event) } as unknown as EventRecorder;
    createAnnouncer({ nodeName: 'node-a', events, wall: false, log: createRecordingLog() }, SIGNAL)(BEGIN);
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a', uid: 'node-a' } };
    assert.deepEqual(recorded, [[node, BEGIN]]);
  });

  it('the announcer does not throw where it may not tell the users any more', async (t) => {
    const rejected: unknown[] = [];
    const note = (reason: unknown): void => void rejected.push(reason);
    process.on('unhandledRejection', note);
    t.after(() => process.off('unhandledRejection', note));
    const log = createRecordingLog();
    const aborted = AbortSignal.abort(new Error('the agent ends'));
    createAnnouncer({ nodeName: 'node-a', events: undefined, wall: true, log }, aborted)({ ...FORCED, wall: true });
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.deepEqual(rejected, []);
    assert.equal(log.lines.length, 1);
  });
});
