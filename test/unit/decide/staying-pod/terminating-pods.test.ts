import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { decideToldPods, type ToldScope } from '../../../../src/decide/staying-pod/terminating-pods.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');

/** A pod whose grace period of 20 s ends, or ended, so many seconds from now. */
function told(inSec: number, annotations: Readonly<Record<string, string>> = {}): Pod {
  const deletionTimestamp = new Date(NOW + inSec * 1000).toISOString();
  const deletion = { deletionTimestamp, deletionGracePeriodSeconds: 20 };
  return { metadata: { name: 'p', namespace: 'd', uid: 'u', annotations, ...deletion }, spec: {} };
}

const MIRROR = { 'kubernetes.io/config.mirror': 'x' };
const untold: Pod = { metadata: { name: 'p', namespace: 'd', uid: 'u', annotations: MIRROR }, spec: {} };
const sandbox = (runningContainers: number): Exclude<ToldScope['live'], Set<string>>[number] => {
  return { id: 's', namespace: 'd', podName: 'p', podUid: 'u', labels: {}, annotations: {}, runningContainers };
};
const RUNS = [sandbox(1)];
const SILENT = { goesDown: true, live: new Set<string>() };
const DOWN = { goesDown: true, kubeletDownMs: 30_000 };

describe('what an agent does for pods that were told to end', () => {
  const rows: readonly [string, Pod, Partial<ToldScope>, string][] = [
    ['the kubelet ends it', told(10), { goesDown: true, live: RUNS }, 'nothing'],
    ['the kubelet has been away for a moment', told(10), { ...DOWN, kubeletDownMs: 29_000, live: RUNS }, 'nothing'],
    ['the kubelet is away', told(10), { ...DOWN, live: RUNS }, 'stop s 20'],
    ['the kubelet is away, and only its sandbox is left', told(10), { ...DOWN, live: [sandbox(0)] }, 'stop s 20'],
    ['the kubelet is away, and nothing of it runs', told(10), DOWN, 'remove'],
    ['the kubelet of a machine that stays up is away', told(10), { ...DOWN, goesDown: false, live: RUNS }, 'nothing'],
    ['it has ended long ago, and the kubelet does not say so', told(-60), { goesDown: true }, 'remove'],
    ['only its network is left', told(-60), { goesDown: true, live: [sandbox(0)] }, 'remove'],
    ['it has just ended', told(-10), { goesDown: true }, 'nothing'],
    ['it runs on', told(-60), { goesDown: true, live: RUNS }, 'nothing'],
    ['a deadline has shortened its time', told(-2), { hasDeadline: true, live: RUNS }, 'stop s 0'],
    ['a deadline leaves it a second', told(-1), { hasDeadline: true, live: RUNS }, 'nothing'],
    ['the runtime is silent, and it has no process', told(10), { goesDown: true, live: new Set(['v']) }, 'remove'],
    ['the runtime is silent, and it has one', told(-60), { goesDown: true, live: new Set(['u']) }, 'nothing'],
    ['the runtime of a machine that stays up is silent', told(-60), { live: new Set() }, 'nothing'],
    ['it was not told to end, and has no process', { ...told(0), metadata: { name: 'p' } }, SILENT, 'nothing'],
    ['it is static and parked, and has no process', untold, { ...SILENT, ended: new Set(['d/p']) }, 'remove'],
    [
      'it is static, and has one by its own UID',
      untold,
      { ...SILENT, live: new Set(['x']), ended: new Set(['d/p']) },
      'nothing',
    ],
    ['it is static and in place, and has no process', untold, SILENT, 'nothing'],
    ['it is static, has ended, and the kubelet is away', untold, { ...DOWN, ended: new Set(['d/p']) }, 'remove'],
    ['it is static, and the kubelet is away', told(-60, MIRROR), { ...DOWN, hasDeadline: true, live: RUNS }, 'nothing'],
  ];
  for (const [when, pod, scope, expected] of rows) {
    it(`the agent does ${expected} when ${when}`, () => {
      const none = { goesDown: false, hasDeadline: false, kubeletDownMs: 0, live: [], ended: new Set<string>() };
      const [step] = decideToldPods([pod], { now: NOW, ...none, ...scope });
      const what = step?.kind === 'stop' ? `stop ${step.sandboxId} ${step.graceSec}` : (step?.kind ?? 'nothing');
      assert.equal(what, expected);
    });
  }
});
