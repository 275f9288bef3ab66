import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, PodVolume } from '../../../../src/api/pod.ts';
import { effectiveDrainPlan } from '../../../../src/decide/maintenance/drain-plan.ts';
import { resolveDrains } from '../../../../src/decide/drain/resolution.ts';
import { drainPodOf } from '../../../../src/decide/pod.ts';
import type { PresentVolume } from '../../../../src/decide/volume/present.ts';
import {
  decideVolumes,
  type NodeVolumes,
  recordedWaits,
  type VolumeFacts,
  volumeKey,
  volumesLeftStatus,
  waitsForVolumes,
} from '../../../../src/decide/volume/waits.ts';

const NOW = Date.parse('2026-11-23T01:00:00Z');
const MAX = 7 * 60_000;
const EBS = 'ebs.csi.aws.com';
const REGISTRY: PodVolume = { hostPath: { path: '/var/lib/kubelet/plugins_registry/' } };
const CLAIM: PodVolume = { persistentVolumeClaim: {} };

function plugin(name: string, root = '/var/lib/kubelet'): PodVolume {
  return { hostPath: { path: `${root}/plugins/${name}/` } };
}

interface PodParts {
  readonly owner?: 'DaemonSet' | 'ReplicaSet';
  readonly volumes?: readonly PodVolume[];
  readonly priority?: number;
  readonly isStatic?: boolean;
  readonly isTerminating?: boolean;
}

function pod(name: string, parts: PodParts = {}): Pod {
  const { owner = 'ReplicaSet', volumes = [], priority = 0, isStatic = false, isTerminating = false } = parts;
  return {
    metadata: {
      name,
      namespace: 'n',
      uid: `u-${name}`,
      ownerReferences: [{ apiVersion: 'apps/v1', kind: owner, name: 'o', uid: 'o', controller: true }],
      ...(isStatic ? { annotations: { 'kubernetes.io/config.mirror': 'x' } } : {}),
      ...(isTerminating ? { deletionTimestamp: '2026-11-23T00:59:00Z' } : {}),
    },
    spec: { nodeName: 'a', priority, volumes },
  };
}

function driver(name: string, ...volumes: readonly PodVolume[]): Pod {
  return pod(name, { owner: 'DaemonSet', volumes: [REGISTRY, ...volumes], priority: 2_000_001_000 });
}

function volume(name: string, waitsFor: PresentVolume['waitsFor'] = 'Unmount', of = EBS): PresentVolume {
  return { name, driver: of, waitsFor };
}

function decide(facts: Partial<VolumeFacts>, now = NOW): NodeVolumes {
  const nothing = {
    pods: [],
    present: [],
    known: () => new Map<string, number>(),
    maxWaitMs: MAX,
    deadlineAt: Infinity,
    isDue: () => false,
  };
  return decideVolumes({ ...nothing, ...facts }, now);
}

const staying = (volumes: NodeVolumes): readonly string[] => [...volumes.staying.keys()].toSorted();

describe('the wait for volumes', () => {
  const own = driver('ebs', plugin(EBS));
  const other = driver('efs', plugin('efs.csi.aws.com'));
  const cases: readonly [
    title: string,
    facts: Partial<VolumeFacts>,
    left: readonly string[],
    stay: readonly string[],
  ][] = [
    ['nothing is on the node', { pods: [own] }, [], []],
    ['a volume is mounted', { present: [volume('v')] }, ['v'], []],
    ['a driver has a volume', { pods: [own, other], present: [volume('v')] }, ['v'], ['u-ebs']],
    ['a volume is attached', { pods: [own], present: [volume('v', 'Detach')] }, ['v'], ['u-ebs']],
    [
      'nobody claims the driver',
      { pods: [other, driver('nfs', plugin('csi-nfsplugin'))], present: [volume('v')] },
      ['v'],
      ['u-efs', 'u-nfs'],
    ],
    ['a pod with a claim is left', { pods: [own, pod('p', { volumes: [CLAIM] })] }, [], ['u-ebs']],
    ['a pod without volumes is left, and no volume', { pods: [own, pod('p')] }, [], []],
    ['a pod without volumes is left, and a volume', { pods: [own, pod('p')], present: [volume('v')] }, [], ['u-ebs']],
    [
      'only a static pod is left',
      { pods: [own, pod('s', { isStatic: true })], present: [volume('v')] },
      ['v'],
      ['u-ebs'],
    ],
    [
      'a driver uses its own volume',
      { pods: [driver('ebs', plugin(EBS), CLAIM)], present: [volume('v')] },
      ['v'],
      ['u-ebs'],
    ],
    [
      'two drivers use the volumes of each other',
      { pods: [driver('ebs', plugin(EBS), CLAIM), driver('efs', plugin('efs.csi.aws.com'), CLAIM)] },
      [],
      [],
    ],
    [
      'the driver is terminating',
      { pods: [{ ...own, metadata: { ...own.metadata, deletionTimestamp: 'x' } }], present: [volume('v')] },
      ['v'],
      [],
    ],
    ['a deadline leaves the driver no time', { pods: [own], present: [volume('v')], isDue: () => true }, ['v'], []],
    ['the deadline is over', { pods: [own], present: [volume('v')], deadlineAt: NOW }, [], []],
    ['nothing is to be waited for', { pods: [own], present: [volume('v')], maxWaitMs: 0 }, [], []],
    [
      'the kubelet has another directory',
      {
        pods: [
          pod('d', {
            owner: 'DaemonSet',
            volumes: [
              { hostPath: { path: '/var/lib/k0s/kubelet/plugins_registry' } },
              plugin(EBS, '/var/lib/k0s/kubelet'),
            ],
          }),
        ],
        present: [volume('v')],
      },
      ['v'],
      ['u-d'],
    ],
    [
      'a Deployment registers a driver',
      { pods: [pod('d', { volumes: [REGISTRY] })], present: [volume('v')] },
      ['v'],
      [],
    ],
  ];
  for (const [title, facts, left, stay] of cases) {
    it(`a drain waits for ${left.join() || 'none'} and holds ${stay.join() || 'none'} where ${title}`, () => {
      const decided = decide(facts);
      assert.deepEqual(
        decided.left.map(({ name }) => name),
        left,
      );
      assert.deepEqual(staying(decided), stay);
    });
  }

  it('a volume is given up after the time, also when it went from the one wait to the other', () => {
    const since = NOW - MAX;
    const known = () => new Map([[volumeKey(volume('v')), since]]);
    const facts = { pods: [own], present: [volume('v', 'Detach'), volume('w')], known };
    const before = decide(facts, NOW - 1);
    assert.equal(before.nextAt, NOW);
    const after = decide(facts);
    assert.deepEqual(
      after.left.map(({ name, isGivenUp, since: at }) => [name, isGivenUp, at]),
      [
        ['v', true, since],
        ['w', false, NOW],
      ],
    );
    assert.deepEqual(staying(after), ['u-ebs'], 'the other volume still needs the driver');
    assert.equal(waitsForVolumes(after), true);
    const alone = decide({ ...facts, present: [volume('v', 'Detach')] });
    assert.deepEqual([staying(alone), waitsForVolumes(alone), alone.nextAt], [[], false, undefined]);
  });

  it('the status remembers since when a volume is waited for, and names twenty', () => {
    const present = Array.from({ length: 30 }, (_, index) => volume(`v-${index}`));
    const known = () => new Map([[volumeKey(volume('v-29')), NOW - 60_000]]);
    const status = volumesLeftStatus(decide({ present, known }));
    assert.equal(status.length, 20);
    assert.equal(status[0]?.name, 'v-29');
    const read = recordedWaits({ nodeRef: { name: 'a' }, volumesLeft: status });
    assert.equal(read.get(volumeKey(volume('v-29'))), NOW - 60_000);
  });

  it('a time in the future does not make a wait longer', () => {
    const known = () => new Map([[volumeKey(volume('v')), NOW + 3_600_000]]);
    assert.equal(decide({ present: [volume('v')], known }).nextAt, NOW + MAX);
  });
});

describe('a drain with volumes', () => {
  const WAITS = `Waiting for the volume v of ${EBS} to be unmounted`;
  const plan = effectiveDrainPlan([]);
  const own = driver('ebs', plugin(EBS));
  const etcd = pod('etcd', { isStatic: true, priority: 2_000_001_000 });
  const resolve = (pods: readonly Pod[], volumes: NodeVolumes) => {
    const node = { name: 'a', pods: pods.map(drainPodOf), recorded: [], position: 0, volumes };
    const resolution = resolveDrains([{ name: 'm', startedAt: NOW, plan, nodes: [node] }]).get('m');
    const [found] = resolution?.nodes ?? [];
    return { drained: resolution?.drained, evicting: found?.evicting.map(({ name }) => name), message: found?.message };
  };

  it('the pod of a driver leaves in the last entry of DaemonSets, after those of a higher priority', () => {
    const low = pod('low', { owner: 'DaemonSet', volumes: [REGISTRY], priority: 0 });
    const logger = pod('logger', { owner: 'DaemonSet', priority: 2_000_001_000 });
    const none = decide({ pods: [low, logger] });
    assert.deepEqual(resolve([low, logger], none).evicting, ['logger']);
  });

  it('static pods stay until the volumes are gone', () => {
    const waits = decide({ pods: [own, etcd], present: [volume('v')] });
    const before = resolve([own, etcd], waits);
    assert.deepEqual([before.evicting, before.message, before.drained], [['ebs'], WAITS, false]);
    const withoutDriver = resolve([etcd], decide({ pods: [etcd], present: [volume('v')] }));
    assert.deepEqual(withoutDriver, { drained: false, evicting: [], message: WAITS });
    assert.deepEqual(resolve([etcd], decide({ pods: [etcd] })).evicting, ['etcd']);
  });

  it('a node without pods is drained when its volumes are gone or given up', () => {
    const known = () => new Map([[volumeKey(volume('v')), NOW - MAX]]);
    assert.deepEqual(
      [{}, { known }].map((more) => {
        const { drained, message } = resolve([], decide({ present: [volume('v')], ...more }));
        return [drained, message];
      }),
      [
        [false, WAITS],
        [true, 'Drained'],
      ],
    );
  });
});
