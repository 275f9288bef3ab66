import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  decideStaticPods,
  type ParkedPod,
  podKey,
  type StaticPodFacts,
} from '../../../../src/decide/static-pod/moves.ts';

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
  targeted: new Set(),
  mirrors: undefined,
  freeSince: new Map(),
  keepParked: () => true,
};
const alive = new Map([[KEY, ['sandbox-1']]]);
const DOWN = { inPlace: [POD], leave: LEAVE, kubeletDownSince: 1_000 };
const LATE = 31_000;
const FREE = { parked: [PARKED], keepParked: () => false, freeSince: new Map([['a.yaml', 1_000]]) };
const API_SERVER = { ...POD, file: 'api.yaml', podName: 'api-node', component: 'kube-apiserver' } as const;
const ETCD = { ...POD, file: 'etcd.yaml', podName: 'etcd-node', component: 'etcd' } as const;
const ALL = new Map([POD, API_SERVER, ETCD].map((pod) => [podKey(pod), { maintenance: 'm', reason: '' }]));
const CONTROL_PLANE = { inPlace: [ETCD, API_SERVER, POD], leave: ALL, targeted: new Set(ALL.keys()) };
const parkedOf = (pod: typeof POD): ParkedPod => ({ ...PARKED, ...pod });

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

const guarded: [string, Partial<StaticPodFacts>, string[]][] = [
  ['waits for a kubelet that is down before it parks', { ...DOWN, live: alive }, []],
  ['ends the containers itself when the kubelet stays away', { ...DOWN, live: alive, now: LATE }, ['stop a.yaml']],
  ['parks without a kubelet what has no containers', { ...DOWN, live: new Map() }, ['park a.yaml']],
  ['does not park without a kubelet what it cannot see', { ...DOWN, live: undefined, now: LATE }, []],
  ['leaves the mirror pod time to go before it restores', { ...FREE, mirrors: new Set([KEY]), now: 40_999 }, []],
  ['restores beside a mirror pod that stays', { ...FREE, mirrors: new Set([KEY]), now: 41_000 }, ['restore a.yaml']],
  ['restores at once when the mirror pod is gone', { ...FREE, mirrors: new Set() }, ['restore a.yaml']],
  ['does not restore blindly for two minutes', { ...FREE, live: undefined, now: 130_999 }, []],
  ['restores when the runtime is silent for longer', { ...FREE, live: undefined, now: 131_000 }, ['restore a.yaml']],
  ['parks neither etcd nor the API server before the others', CONTROL_PLANE, ['park a.yaml']],
  [
    'waits until the others have ended before the API server goes',
    { ...CONTROL_PLANE, inPlace: [ETCD, API_SERVER], parked: [PARKED], live: alive },
    [],
  ],
  [
    'parks the API server when the others have ended',
    { ...CONTROL_PLANE, inPlace: [ETCD, API_SERVER], parked: [PARKED] },
    ['park api.yaml'],
  ],
  ['parks it last', { ...CONTROL_PLANE, inPlace: [ETCD], parked: [PARKED, parkedOf(API_SERVER)] }, ['park etcd.yaml']],
  [
    'makes etcd wait for a pod that is targeted and still with another interceptor',
    { ...CONTROL_PLANE, inPlace: [ETCD, POD], leave: new Map([[podKey(ETCD), { maintenance: 'm', reason: '' }]]) },
    [],
  ],
  [
    'does not make etcd wait for a pod that nobody targets',
    { ...CONTROL_PLANE, inPlace: [ETCD, POD], targeted: new Set([podKey(ETCD)]) },
    ['park a.yaml', 'park etcd.yaml'],
  ],
];

describe('static pods', () => {
  for (const [name, facts, expected] of [...cases, ...guarded]) {
    it(name, () => {
      const { actions } = decideStaticPods({ ...NOTHING, ...facts });
      assert.deepEqual(actions.map(({ kind, file }) => `${kind} ${file}`).toSorted(), expected);
    });
  }

  it('the status tells what a pod waits for that is not parked yet', () => {
    const { progress } = decideStaticPods({ ...NOTHING, ...DOWN, live: alive });
    assert.equal(progress[0]?.state, 'terminating');
    assert.match(progress[0].message ?? '', /the kubelet is down; waiting before the manifest a.yaml is moved/);
    const leave = new Map([[podKey(ETCD), { maintenance: 'm', reason: '' }]]);
    const etcd = decideStaticPods({ ...NOTHING, ...CONTROL_PLANE, inPlace: [ETCD, POD], leave }).progress[0];
    assert.match(etcd?.message ?? '', /etcd leaves after the other static pods; waiting for kube-system\/a-node$/);
  });

  it('static pods have ended only when the runtime says so', () => {
    const stateOf = (facts: Partial<StaticPodFacts>): string | undefined =>
      decideStaticPods({ ...NOTHING, parked: [PARKED], ...facts }).progress[0]?.state;
    assert.equal(stateOf({ live: alive }), 'terminating');
    assert.equal(stateOf({ live: undefined }), 'terminating');
    assert.equal(stateOf({}), 'ended');
  });
});
