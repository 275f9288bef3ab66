import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { isLeftOfShutdown } from '../../../../src/decide/shutdown/failed-pods.ts';

describe('the pods that a shutdown left behind', () => {
  it('the pods that a shutdown left behind are the failed ones that the kubelet ended for it', () => {
    const pod = (phase: string, reason?: string): Pod =>
      ({ metadata: { name: 'p' }, spec: {}, status: { phase, reason } }) as Pod;
    for (const reason of ['Terminated', 'NodeShutdown', 'Shutdown']) assert.ok(isLeftOfShutdown(pod('Failed', reason)));
    for (const other of [pod('Failed', 'Evicted'), pod('Failed'), pod('Running', 'Terminated'), pod('Succeeded')]) {
      assert.equal(isLeftOfShutdown(other), false);
    }
  });
});
