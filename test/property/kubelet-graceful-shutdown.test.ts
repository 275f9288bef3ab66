import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { effectiveDrainPlan, entryCovers } from '../../src/decide/maintenance/drain-plan.ts';
import { effectiveKubelet } from '../../src/decide/machine/kubelet-config.ts';
import { mergePatch } from '../../src/decide/json.ts';
import {
  judgeKubeletShutdown,
  KUBELET_DROP_IN_TEXT,
  kubeletShutdownWarning,
} from '../../src/decide/machine/kubelet-graceful-shutdown.ts';
import { parse } from 'yaml';

const priority = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });

/** The kubelet's group of a pod: the highest at or below its priority, else the lowest. */
function groupOf(groups: readonly number[], pod: number): number {
  return groups.findLastIndex((group) => group <= pod);
}

describe("the kubelet's own graceful shutdown", () => {
  it('the order of the kubelet is kept as a drain plan: of two pods, the one that it ends first leaves no later', () => {
    fc.assert(
      fc.property(fc.uniqueArray(priority, { minLength: 1, maxLength: 6 }), priority, priority, (all, a, b) => {
        const groups = all.toSorted((x, y) => x - y);
        const found = judgeKubeletShutdown({
          shutdownGracePeriodMs: 0,
          shutdownGracePeriodByPodPriority: groups.map((value) => ({ priority: value, shutdownGracePeriodSeconds: 1 })),
        });
        assert.equal(found.kind, 'on');
        const plan = found.kind === 'on' ? effectiveDrainPlan(found.plan) : [];
        const place = (value: number): number =>
          plan.findIndex((entry) => entryCovers(entry, { podType: 'Default', priority: value, labels: {} }));
        const [ga, gb] = [groupOf(groups, Math.max(a, groups[0] ?? 0)), groupOf(groups, Math.max(b, groups[0] ?? 0))];
        if (ga < gb) assert.ok(place(a) < place(b), `${a} of group ${ga} and ${b} of group ${gb}`);
      }),
    );
  });

  it('the graceful shutdown is off after its drop-in was laid over any configuration', () => {
    const configurations = [
      { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' },
      { shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 10 }] },
    ];
    for (const before of configurations) {
      assert.equal(judgeKubeletShutdown(effectiveKubelet(1, new Map(), before)).kind, 'on');
      assert.match(kubeletShutdownWarning(effectiveKubelet(1, new Map(), before)) ?? '', /is on \(\d+ s\)/);
      const after = mergePatch(before, parse(KUBELET_DROP_IN_TEXT)) as typeof before;
      assert.equal(kubeletShutdownWarning(effectiveKubelet(1, new Map(), after)), undefined);
    }
  });
});
