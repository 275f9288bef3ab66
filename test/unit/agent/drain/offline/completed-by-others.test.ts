import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrainerFacts } from '../../../../../src/agent/drain/drainer.ts';
import { RuntimeSilence } from '../../../../../src/agent/drain/runtime-silence.ts';
import { createOfflineDrainer } from '../../../../../src/agent/drain/offline/offline-drain.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';
import { DRAINING } from '../../../../support/agent/phase-facts.ts';

const SIGNAL = new AbortController().signal;
const POD = { file: 'web.yaml', namespace: 'default', podName: 'web-n1', priority: 0, labels: {}, graceSec: 30 };

describe('the drain after a completion by somebody else, where the kubelet is not to be stopped', () => {
  it('leaves static pods to the deadline', async () => {
    const drainer = createOfflineDrainer({
      pods: {
        observe: () => Promise.resolve({ kind: 'seen', pods: [], staticPods: [] }),
        stop: () => Promise.resolve([]),
        whyNone: () => 'the key "kubeletUnit" is ""',
      },
      staticPods: { stuck: () => new Set() },
      silence: new RuntimeSilence(createSteppingClock()),
      drainPlan: [],
      clock: createSteppingClock(),
    });
    const factsOf = (completed: object): DrainerFacts => ({
      record: { phase: { ...DRAINING, mode: 'offline', ...completed }, offlineTargets: [] },
      view: { inPlace: [POD as never], ended: [], parked: [], live: undefined },
      retention: {} as never,
      keepParked: () => true,
      saveTargets: () => Promise.resolve(),
      maintenances: [],
    });
    assert.equal((await drainer.pass(factsOf({}), SIGNAL)).leave.size, 1);
    const { leave, drained } = await drainer.pass(factsOf({ completed: { sinceBootMs: 0 } }), SIGNAL);
    assert.deepEqual([leave.size, drained], [0, true], 'what runs decides');
  });
});
