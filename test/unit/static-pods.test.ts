import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideStaticPods, type ParkedPod, type StaticPodFacts } from '../../src/decide/static-pods.ts';

const POD = { file: 'a.yaml', namespace: 'kube-system', podName: 'a-node', graceSec: 10 };
const KEY = 'kube-system/a-node';
const LEAVE = new Map([[KEY, { maintenance: 'm', reason: 'reboot' }]]);
const PARKED: ParkedPod = { ...POD, maintenance: 'm', parkedAt: 1_000, thisBoot: true };
const NOTHING: StaticPodFacts = {
  now: 2_000,
  inPlace: [],
  parked: [],
  live: new Map(),
  leave: new Map(),
  keepParked: () => true,
};
const alive = new Map([[KEY, ['sandbox-1']]]);

const cases: [string, Partial<StaticPodFacts>, string[]][] = [
  ['leaves a pod alone that nobody targets', { inPlace: [POD] }, []],
  ['parks a pod that is to leave', { inPlace: [POD], leave: LEAVE }, ['park a.yaml']],
  ['waits for the containers of a parked pod', { parked: [PARKED], live: alive }, []],
  ['asks the runtime when the kubelet took too long', { parked: [PARKED], live: alive, now: 51_001 }, ['stop a.yaml']],
  ['does not stop what it cannot see', { parked: [PARKED], live: undefined, now: 90_000 }, []],
  ['keeps a parked pod parked', { parked: [PARKED] }, []],
  ['parks again what somebody wrote', { parked: [PARKED], inPlace: [POD] }, ['park a.yaml']],
  ['restores when the maintenance is over', { parked: [PARKED], keepParked: () => false }, ['restore a.yaml']],
  ['restores only when the old containers are gone', { parked: [PARKED], live: alive, keepParked: () => false }, []],
  ['does not restore blindly', { parked: [PARKED], live: undefined, keepParked: () => false }, []],
  [
    'restores after a boot without asking the runtime',
    { parked: [{ ...PARKED, thisBoot: false }], live: undefined, keepParked: () => false },
    ['restore a.yaml'],
  ],
  [
    'keeps what somebody wrote when the maintenance is over',
    { parked: [PARKED], inPlace: [POD], keepParked: () => false },
    ['restore a.yaml'],
  ],
];

describe('static pods', () => {
  for (const [name, facts, expected] of cases) {
    it(name, () => {
      const { actions } = decideStaticPods({ ...NOTHING, ...facts });
      assert.deepEqual(
        actions.map(({ kind, file }) => `${kind} ${file}`),
        expected,
      );
    });
  }

  it('have ended only when the runtime says so', () => {
    const stateOf = (facts: Partial<StaticPodFacts>): string | undefined =>
      decideStaticPods({ ...NOTHING, parked: [PARKED], ...facts }).progress[0]?.state;
    assert.equal(stateOf({ live: alive }), 'terminating');
    assert.equal(stateOf({ live: undefined }), 'terminating');
    assert.equal(stateOf({}), 'ended');
  });
});
