/** Pools of the installer: every node belongs to one of them, and a rollback takes program and configuration back together. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createHelm, type Helm } from '../../helm/helm.ts';
import { objectsOf, type PrintedObject } from '../../helm/objects.ts';
import { daemonSetsOn } from '../../helm/pools.ts';
import { makeTestFolder } from '../../support/folder.ts';

const CHART = path.join(import.meta.dirname, '..', '..', '..', 'manifests', 'chart');
const LINUX = { 'kubernetes.io/os': 'linux' };
const CANARY = 'example.com/canary';
const POOL = 'example.com/pool';
const ZONE = 'example.com/zone';

describe('pools of the installer in the Helm chart', () => {
  const signal = AbortSignal.timeout(120_000);
  let folder: string;
  let helm: Helm;
  before(async () => {
    folder = await makeTestFolder('chart-pools');
    helm = await createHelm({ folder }, signal);
  });
  after(() => rm(folder, { recursive: true, force: true }));
  const render = async (installer: object): Promise<ReadonlyMap<string, PrintedObject>> => {
    const values = ['--set-json', `installer=${JSON.stringify({ enabled: true, ...installer })}`];
    return objectsOf(await helm(['template', 'nodemaint', CHART, '--namespace', 'kube-system', ...values]));
  };

  it('every node belongs to exactly one pool, whatever labels it has', async () => {
    const pools = [
      { name: 'canary', nodeSelector: { [CANARY]: 'true', [ZONE]: 'a' } },
      { name: 'gpu', nodeSelector: { [POOL]: 'gpu' } },
      { name: 'spot', nodeSelector: { [POOL]: 'spot' } },
      { name: 'zone', nodeSelector: { [ZONE]: 'a' } },
    ];
    const objects = [...(await render({ pools })).values()];
    const nodes = ['true', 'false', undefined].flatMap((canary) =>
      ['gpu', 'spot', 'web', undefined].flatMap((pool) =>
        ['a', 'b', undefined].map((zone) => ({ [CANARY]: canary, [POOL]: pool, [ZONE]: zone })),
      ),
    );
    assert.equal(nodes.length, 36);
    for (const node of nodes) {
      const labels = Object.fromEntries(
        Object.entries({ ...LINUX, ...node }).filter((entry): entry is [string, string] => entry[1] !== undefined),
      );
      const first = pools.find(({ nodeSelector }) =>
        Object.entries(nodeSelector).every(([key, value]) => labels[key] === value),
      );
      const expected = first === undefined ? 'nodemaint-installer' : `nodemaint-installer-${first.name}`;
      assert.deepEqual(daemonSetsOn(objects, labels), [expected], JSON.stringify(labels));
      assert.deepEqual(daemonSetsOn(objects, { ...labels, 'kubernetes.io/os': 'windows' }), []);
    }
  });

  it('no node affinity of the installer is lost where pools add theirs', async () => {
    const term = (key: string) => ({ matchExpressions: [{ key, operator: 'Exists' }] });
    const required = { nodeSelectorTerms: [term('example.com/one'), term('example.com/two')] };
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
    const pools = [{ name: 'gpu', nodeSelector: { [POOL]: 'gpu', [ZONE]: 'a' } }];
    const objects = [...(await render({ affinity, pools })).values()];
    const on = (labels: Readonly<Record<string, string>>) => daemonSetsOn(objects, { ...LINUX, ...labels });
    assert.deepEqual(on({}), []);
    assert.deepEqual(on({ [POOL]: 'gpu', [ZONE]: 'a' }), []);
    for (const key of ['example.com/one', 'example.com/two']) {
      assert.deepEqual(on({ [key]: '' }), ['nodemaint-installer']);
      assert.deepEqual(on({ [key]: '', [POOL]: 'gpu', [ZONE]: 'b' }), ['nodemaint-installer']);
      assert.deepEqual(on({ [key]: '', [POOL]: 'gpu', [ZONE]: 'a' }), ['nodemaint-installer-gpu']);
    }
  });

  it('a pool without nodes, two pools of one name, and a pool without labels are refused', async () => {
    const gpu = { name: 'gpu', nodeSelector: { [POOL]: 'gpu' } };
    for (const [pools, message] of [
      [
        [gpu, { name: 'all', nodeSelector: { [POOL]: 'gpu', [ZONE]: 'a' } }],
        /installer\.pools: all has no nodes, because each of them is in the pool gpu before it/,
      ],
      [[gpu, { name: 'gpu', nodeSelector: { [POOL]: 'spot' } }], /installer\.pools: two pools have the name gpu/],
      [[{ name: 'gpu' }], /missing property 'nodeSelector'/],
      [[{ name: 'gpu', nodeSelector: {} }], /nodeSelector/],
      [[{ ...gpu, affinity: {} }], /affinity/],
      [[{ ...gpu, name: 'GPU' }], /name/],
    ] as const) {
      await assert.rejects(render({ pools }), message);
    }
  });

  it('the pods of a pool are replaced when its own configuration changes, and only those', async () => {
    const spot = { name: 'spot', nodeSelector: { [POOL]: 'spot' }, config: { maxHoldSec: 100 } };
    const gpu = (maxHoldSec: number) => ({ name: 'gpu', nodeSelector: { [POOL]: 'gpu' }, config: { maxHoldSec } });
    const [before, after] = [await render({ pools: [spot, gpu(1)] }), await render({ pools: [spot, gpu(2)] })];
    const changed = [...after].filter(([key, object]) => JSON.stringify(object) !== JSON.stringify(before.get(key)));
    assert.deepEqual(changed.map(([key]) => key).sort(), [
      'ConfigMap nodemaint-installer/nodemaint-installer-gpu',
      'DaemonSet nodemaint-installer/nodemaint-installer-gpu',
    ]);
  });

  it('the pods have the priority of nodes, and their namespace has the quota that some platforms ask for', async () => {
    const quota = 'ResourceQuota nodemaint-installer/nodemaint-critical-pods';
    const set = 'DaemonSet nodemaint-installer/nodemaint-installer';
    const usual = await render({});
    assert.match(JSON.stringify(usual.get(set)), /"priorityClassName":"system-node-critical"[^]*"maxUnavailable":"5%"/);
    assert.match(JSON.stringify(usual.get(quota)), /"scopeName":"PriorityClass","values":\["system-node-critical"\]/);
    const other = await render({ priorityClassName: 'own' });
    assert.match(JSON.stringify(other.get(set)), /"priorityClassName":"own"/);
    assert.equal(other.has(quota), false);
  });
});
