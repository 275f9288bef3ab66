import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HandOver, type HandOverParts } from '../../../../../src/agent/drain/offline/hand-over.ts';
import type { OfflineView } from '../../../../../src/decide/shutdown/unseen-pods.ts';
import { DRAINING } from '../../../../support/agent/phase-facts.ts';
import { RUNTIME_POD } from '../../../../support/agent/runtime-pod.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const RECORD = {
  phase: { ...DRAINING, mode: 'offline' },
  offlineTargets: [{ podType: 'Default', podPriority: 1_000_000_000 }],
} as const;
const UNSEEN: OfflineView = { kind: 'unseen', reason: 'the runtime restarts' };

function podOf(uid: string): object {
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { nodeName: 'node-a', priority: 0 } };
}

/** An API server that is back, with one pod that has ended here and one that is ending; `views` is what the runtime shows. */
function open(views: OfflineView[]) {
  const calls: string[] = [];
  const clock = createSteppingClock();
  const client = {
    send: ({ method, path }: { method: string; path: string }) => {
      if (method === 'DELETE') calls.push(`delete ${path.split('/').at(-1)}`);
      const items = [podOf('ended'), podOf(RUNTIME_POD.uid)];
      const annotations = {};
      return Promise.resolve({
        status: 200,
        headers: {},
        body: { items, metadata: { name: 'node-a', resourceVersion: '1', annotations }, spec: { unschedulable: true } },
      });
    },
  };
  const dependencies = {
    config: { drainPlan: [] },
    nodeName: 'node-a',
    clock,
    log: SILENT_LOG,
    staticPods: { stuck: () => new Set() },
    cluster: {
      client,
      own: { state: () => 'open', create: () => Promise.resolve() },
      ownNode: { observe: () => Promise.resolve({ kind: 'present', node: { metadata: { name: 'node-a' } } }) },
    },
    offlinePods: {
      observe: () => Promise.resolve(views.shift() ?? UNSEEN),
      giveBack: () => {
        calls.push('kubelet back');
        return Promise.resolve(true);
      },
    },
  } as unknown as HandOverParts;
  const handOver = new HandOver(dependencies);
  const attempt = async (): Promise<boolean> => {
    const outcome = await handOver.attempt(RECORD, SIGNAL);
    clock.pass(15_000);
    return outcome;
  };
  return { calls, attempt };
}

describe('the hand-over of an offline drain whose runtime does not answer', () => {
  it('no pod is deleted and the kubelet stays stopped while the runtime does not tell which pods have ended', async () => {
    const seen: OfflineView = { kind: 'seen', pods: [RUNTIME_POD], staticPods: [] };
    const { calls, attempt } = open([UNSEEN, UNSEEN, seen]);
    assert.equal(await attempt(), false, 'the connection has to be steady first');
    for (let time = 0; time < 2; time += 1) assert.equal(await attempt(), false);
    assert.deepEqual(calls, []);
    assert.equal(await attempt(), true);
    assert.deepEqual(calls, ['delete ended', 'kubelet back'], 'not the pod that still runs');
  });
});
