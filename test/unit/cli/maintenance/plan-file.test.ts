import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDrainPlan } from '../../../../src/cli/maintenance/plan-file.ts';

describe('a drain plan in a file', () => {
  it('a drain plan is taken as a list, an object, a NodeMaintenance, or a KubeletConfiguration', () => {
    const entries = '[{"podType": "Default", "podPriority": 5}]';
    for (const text of [
      entries,
      `{"drainPlan": ${entries}}`,
      `{"kind": "NodeMaintenance", "spec": {"drainPlan": ${entries}}}`,
    ]) {
      assert.deepEqual(parseDrainPlan(text, 'f'), [{ podType: 'Default', podPriority: 5 }]);
    }
    const kubelet = '{kind: KubeletConfiguration, shutdownGracePeriodByPodPriority: [{priority: 0}, {priority: 10}]}';
    assert.deepEqual(parseDrainPlan(kubelet, 'f')[0], { podType: 'Default', podPriority: 9 });
  });

  it('the refusal of a plan names the entry', () => {
    const cases: readonly (readonly [string, RegExp])[] = [
      ['', /has no drainPlan/],
      ['{', /neither YAML nor JSON/],
      ['spec: {}', /has no drainPlan/],
      ['[{podType: Pods, podPriority: 1}]', /at \[0\]\.podType/],
      ['[{podType: Default, podPriority: 3000000000}]', /at \[0\]\.podPriority/],
      ['[{podType: Default, podPriority: 1}, {podType: Default, podPriority: 1}]', /entry 2 is there twice/],
      [
        '[{podType: Default, podPriority: 2}, {podType: Default, podPriority: 1}]',
        /entry 2 .* must come before entry 1/,
      ],
    ];
    for (const [text, pattern] of cases) assert.throws(() => parseDrainPlan(text, 'f'), pattern);
  });
});
