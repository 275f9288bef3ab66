import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { STARTUP_TAINT } from '../../../../src/api/names.ts';
import { hasStartupTaint, withoutStartupTaint } from '../../../../src/decide/node-mark/startup-taint.ts';

const OURS = { key: STARTUP_TAINT, effect: 'NoSchedule' };
const OTHER = { key: 'example.com/gpu', value: 'yes', effect: 'NoExecute' };

describe('the startup taint', () => {
  it('the startup taint goes with each of its effects, and every other taint stays as it is', () => {
    const spec = { taints: [OURS, OTHER, { ...OURS, effect: 'NoExecute', value: 'x' }] };
    assert.equal(hasStartupTaint({ spec }), true);
    assert.deepEqual(withoutStartupTaint({ spec }), [OTHER]);
  });

  it('a node without it, or without a spec, has none to lose', () => {
    for (const node of [{}, { spec: {} }, { spec: { taints: [OTHER] } }]) {
      assert.equal(hasStartupTaint(node), false);
      assert.deepEqual(withoutStartupTaint(node), node.spec?.taints ?? []);
    }
  });
});
