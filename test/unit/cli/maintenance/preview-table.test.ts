import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { formatPreview } from '../../../../src/cli/maintenance/preview-table.ts';
import { type DrainPreview, previewDrain } from '../../../../src/show/preview/drain-preview.ts';

function pod(name: string, terminationGracePeriodSeconds: number, priority: number, annotations = {}): Pod {
  const metadata = { name, namespace: 'default', uid: `uid-${name}`, annotations };
  return { metadata, spec: { nodeName: 'n', priority, terminationGracePeriodSeconds }, status: { phase: 'Running' } };
}

const PODS = [
  pod('web', 10, 0),
  pod('slow', 600, 0),
  pod('critical', 60, 2_000_000_000),
  pod('etcd', 600, 2_000_001_000, { 'kubernetes.io/config.mirror': 'x' }),
];

function preview(deadlineMs?: number): DrainPreview {
  const nothing = { maintenances: [], budgets: [], daemonSets: [], isGateInstalled: true, plan: [] };
  const limit = deadlineMs === undefined ? {} : { deadlineMs };
  return previewDrain({ node: { metadata: { name: 'n' } }, pods: PODS, ...nothing, ...limit });
}

describe('the preview of a drain with a deadline', () => {
  it('the preview shows what each pod would get, and when each tier is told at the latest', () => {
    const { tiers } = preview(120_000);
    assert.deepEqual(
      tiers.map(({ dueSec, pods }) => [dueSec, ...pods.map(({ name, budget }) => `${name} ${budget}`)]),
      [
        [0, 'web 10', 'slow 35'],
        [37, 'critical 35'],
        [74, 'etcd 34'],
      ],
    );
  });

  it('the preview shortens nothing where there is time for all, and nothing is due early', () => {
    const { tiers } = preview(7_200_000);
    assert.ok(tiers.every(({ pods }) => pods.every(({ gracePeriodSec, budget }) => budget === gracePeriodSec)));
    assert.ok((tiers[0]?.dueSec ?? 0) > 5_000);
  });

  it('the table tells people about the deadline', () => {
    const text = formatPreview(preview(120_000), Infinity);
    assert.match(text, /^1\. Default, priority ≤ 1000000000, after 0s at the latest$/m);
    assert.match(text, /^ +pod\/slow +default +0 +10m0s, shortened to 35s$/m);
    assert.match(text, /^ +pod\/web +default +0 +10s$/m);
    assert.ok(!formatPreview(preview(), Infinity).includes('at the latest'), 'without a deadline there is none');
  });
});
