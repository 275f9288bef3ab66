import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Deployment } from '../../../../../src/addons/surge/api/deployment.ts';
import { REPLACED_COST, surgePatch, surgeRecordOf, withoutPod } from '../../../../../src/addons/surge/decide/record.ts';
import { decideSurge, maxSurgeOf } from '../../../../../src/addons/surge/decide/surge.ts';
import type { Pod } from '../../../../../src/api/pod.ts';

const NOW = Date.parse('2026-11-23T05:00:00Z');
const TIMEOUT_MS = 60_000;

interface Shape {
  readonly replicas?: number;
  readonly maxSurge?: number | string;
  readonly type?: string;
  readonly available?: number;
  readonly updated?: number;
  readonly observed?: number;
  readonly record?: string;
  /** The annotations of the template; by default those that ask for a surge. */
  readonly asks?: Readonly<Record<string, string>>;
}

const COST = 'controller.kubernetes.io/pod-deletion-cost';
const ASKS = {
  'interceptor.evictionrequest.coordination.k8s.io/priority_surge.nodemaintenance.x-k8s.io': '10000/controller',
};

function deployment({
  replicas = 2,
  maxSurge = 1,
  type = 'RollingUpdate',
  record,
  asks = ASKS,
  ...status
}: Shape = {}): Deployment {
  return {
    metadata: {
      name: 'web',
      namespace: 'default',
      resourceVersion: '7',
      generation: 3,
      ...(record === undefined ? {} : { annotations: { 'nodemaintenance.x-k8s.io/surge': record } }),
    },
    spec: { replicas, strategy: { type, rollingUpdate: { maxSurge } }, template: { metadata: { annotations: asks } } },
    status: {
      observedGeneration: status.observed ?? 3,
      updatedReplicas: status.updated ?? replicas,
      availableReplicas: status.available ?? replicas,
    },
  };
}

function pod(uid: string, { ready = true, cost, ends }: { ready?: boolean; cost?: string; ends?: string } = {}): Pod {
  return {
    metadata: {
      name: `web-${uid}`,
      uid,
      ...(cost === undefined ? {} : { annotations: { [COST]: cost } }),
      ...(ends === undefined ? {} : { deletionTimestamp: ends }),
    },
    spec: {},
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  };
}

const recordOf = (replicas: number, ...uids: readonly string[]): string =>
  JSON.stringify({ replicas, pods: Object.fromEntries(uids.map((uid) => [uid, '2026-11-23T04:59:30Z'])) });

const CASES: readonly [string, Deployment, Pod, string][] = [
  ['a pod of a Deployment at rest', deployment(), pod('a'), 'add 3: Deployment web gets another pod first.'],
  [
    'the only pod of a Deployment',
    deployment({ replicas: 1 }),
    pod('a'),
    'add 2: Deployment web gets another pod first.',
  ],
  [
    'a second pod where maxSurge is 1',
    deployment({ replicas: 3, record: recordOf(2, 'b') }),
    pod('a'),
    'wait: Deployment web may not have more than 1 further pods (maxSurge).',
  ],
  [
    'a second pod where maxSurge is 2',
    deployment({ replicas: 3, maxSurge: 2, record: recordOf(2, 'b') }),
    pod('a'),
    'add 4: Deployment web gets another pod first.',
  ],
  [
    'a pod whose replacement is not available',
    deployment({ replicas: 3, available: 2, record: recordOf(2, 'a') }),
    pod('a'),
    'wait: Waiting for another pod of Deployment web: 2 of 3 are available.',
  ],
  [
    'a pod whose Deployment was not seen yet by its controller',
    deployment({ replicas: 3, observed: 2, record: recordOf(2, 'a') }),
    pod('a'),
    'wait: Waiting for another pod of Deployment web: 3 of 3 are available.',
  ],
  [
    'a pod whose replacement is available',
    deployment({ replicas: 3, record: recordOf(2, 'a') }),
    pod('a'),
    'replace 2: Another pod of Deployment web is available.',
  ],
  [
    'a pod that has been replaced already',
    deployment(),
    pod('a', { cost: REPLACED_COST }),
    'pass: Another pod of Deployment web is available.',
  ],
  [
    'a pod whose Deployment was scaled by somebody else',
    deployment({ replicas: 5, record: recordOf(2, 'a') }),
    pod('a'),
    'pass, record away: Deployment web was scaled by somebody else meanwhile.',
  ],
  [
    'a pod that is not ready',
    deployment(),
    pod('a', { ready: false }),
    'pass: The pod is not ready: nothing is lost when it leaves.',
  ],
  [
    'a pod that became unready while its replacement was awaited',
    deployment({ replicas: 3, record: recordOf(2, 'a') }),
    pod('a', { ready: false }),
    'pass 2: The pod is not ready: nothing is lost when it leaves.',
  ],
  [
    'a pod that is terminating',
    deployment(),
    pod('a', { ends: '2026-11-23T05:01:00Z' }),
    'pass: The pod is terminating already.',
  ],
  [
    'a Deployment with the strategy Recreate',
    deployment({ type: 'Recreate' }),
    pod('a'),
    'pass: Deployment web allows no more pods than its replicas (maxSurge).',
  ],
  [
    'a Deployment without maxSurge',
    deployment({ maxSurge: 0 }),
    pod('a'),
    'pass: Deployment web allows no more pods than its replicas (maxSurge).',
  ],
  [
    'a Deployment that is scaled to none',
    deployment({ replicas: 0 }),
    pod('a'),
    'pass: Deployment web is scaled to none.',
  ],
  [
    'a Deployment in the middle of a rollout',
    deployment({ updated: 1 }),
    pod('a'),
    'pass: Deployment web is being rolled out.',
  ],
  [
    'a Deployment whose template does not ask for another pod first',
    deployment({ asks: {} }),
    pod('a'),
    'pass: The template of Deployment web does not name surge.nodemaintenance.x-k8s.io.',
  ],
  [
    'a Deployment whose template has a deletion cost',
    deployment({ asks: { ...ASKS, [COST]: '7' } }),
    pod('a', { cost: '7' }),
    'pass: The pod or the template of Deployment web has a pod-deletion-cost of its own: another pod might be deleted.',
  ],
  [
    'a pod with a deletion cost of its own',
    deployment(),
    pod('a', { cost: '7' }),
    'pass: The pod or the template of Deployment web has a pod-deletion-cost of its own: another pod might be deleted.',
  ],
  [
    'a pod that got a deletion cost of its own while its replacement was awaited',
    deployment({ replicas: 3, record: recordOf(2, 'a') }),
    pod('a', { cost: '7' }),
    'pass 2: The pod or the template of Deployment web has a pod-deletion-cost of its own: another pod might be deleted.',
  ],
  [
    'a Deployment with a record that nobody can read',
    deployment({ record: '{"replicas":-1}' }),
    pod('a'),
    'add 3: Deployment web gets another pod first.',
  ],
];

function told(step: ReturnType<typeof decideSurge>): string {
  const change = step.kind === 'wait' ? undefined : step.change;
  const replicas = change?.replicas === undefined ? '' : ` ${change.replicas}`;
  const isForgotten = change !== undefined && change.replicas === undefined && change.record === undefined;
  return `${step.kind}${replicas}${isForgotten ? ', record away' : ''}: ${step.message}`;
}

describe('another pod before a pod of a Deployment leaves', () => {
  for (const [name, given, asked, expected] of CASES) {
    it(`${name}: ${expected}`, () => {
      assert.equal(told(decideSurge(given, asked, NOW, TIMEOUT_MS)), expected);
    });
  }

  it('a Deployment of which no other pod becomes available in time is scaled back', () => {
    const given = deployment({ replicas: 3, available: 2, record: recordOf(2, 'a') });
    const step = decideSurge(given, pod('a'), NOW, 20_000);
    assert.equal(told(step), 'pass 2: No other pod of Deployment web became available in 20 s.');
  });

  it('maxSurge is a number or a percentage that is rounded up, 25 % where nothing is said', () => {
    assert.equal(maxSurgeOf(deployment({ replicas: 5, maxSurge: '25%' })), 2);
    assert.equal(maxSurgeOf(deployment({ replicas: 5, maxSurge: '0%' })), 0);
    assert.equal(maxSurgeOf(deployment({ replicas: 5, maxSurge: 'many' })), 0);
    assert.equal(maxSurgeOf({ metadata: { name: 'web' }, spec: {} }), 1);
  });
});

describe('the record of a surge', () => {
  it('a Deployment is scaled back by each pod of its own, and the record ends with the last one', () => {
    const both = deployment({ replicas: 4, record: recordOf(2, 'a', 'b') });
    const first = withoutPod(both, 'a');
    assert.equal(first?.replicas, 3);
    assert.deepEqual([...(first?.record?.pods.keys() ?? [])], ['b']);
    assert.deepEqual(withoutPod(deployment({ replicas: 3, record: recordOf(2, 'a') }), 'a'), {
      record: undefined,
      replicas: 2,
    });
    assert.equal(withoutPod(both, 'c'), undefined);
  });

  it('what a patch writes is read again', () => {
    const step = decideSurge(deployment(), pod('a'), NOW, TIMEOUT_MS);
    assert.ok(step.kind === 'add');
    const patch = surgePatch(deployment(), step.change) as Pick<Deployment, 'metadata' | 'spec'>;
    assert.equal(patch.metadata.resourceVersion, '7');
    assert.equal(patch.spec.replicas, 3);
    assert.deepEqual(surgeRecordOf({ ...patch, spec: {} }), { replicas: 2, pods: new Map([['a', NOW]]) });
  });

  it('a text that is not a record is none', () => {
    for (const record of [
      '',
      '[]',
      '{"replicas":2,"pods":{}}',
      '{"replicas":"2","pods":{"a":""}}',
      '{"replicas":2.5,"pods":{"a":""}}',
    ]) {
      assert.equal(surgeRecordOf(deployment({ record })), undefined, record);
    }
  });
});
