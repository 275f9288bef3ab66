import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type EtcdMember,
  type LeavingFacts,
  leavingStep,
  type MemberWait,
  returningStep,
  waitsOver,
} from '../../../../src/decide/static-pod/control-plane-waits.ts';

const NONE: ReadonlySet<MemberWait> = new Set();
const STATUS = { leader: '1', raftIndex: 90_000, appliedIndex: 90_000, errors: [] };

function member(id: string, more: Partial<EtcdMember> | object = {}): EtcdMember {
  return { id, name: `m${id}`, isLearner: false, status: STATUS, ...more };
}

function behind(entries: number): EtcdMember['status'] {
  return { ...STATUS, appliedIndex: STATUS.appliedIndex - entries };
}

function leaving(members: readonly EtcdMember[], more: Partial<LeavingFacts> = {}): LeavingFacts {
  return { etcd: { self: '1', members }, isOffline: false, ...more };
}

const [ONE, TWO, THREE] = [member('1'), member('2'), member('3')];
const AWAY = 'the other members of etcd are not in step';
const FOLLOWS = { status: { ...STATUS, leader: '2' } };

/** Three members, of which the first leads and leaves, and the second one is like this. */
const second = (status: EtcdMember['status'], more: Partial<LeavingFacts> = {}): LeavingFacts =>
  leaving([ONE, member('2', { status }), THREE], more);
const TO = (name: string): string => `etcd is handed to ${name}`;

describe('a member of the control plane that leaves', () => {
  const cases: readonly (readonly [string, LeavingFacts, MemberWait | undefined, string])[] = [
    ['hands the lead to a member in step', leaving([ONE, TWO, THREE]), 'etcd-leader', TO('m2')],
    ['hands it to the one with most of the log', second({ ...STATUS, raftIndex: 89_999 }), 'etcd-leader', TO('m3')],
    ['waits for nothing where another leads', leaving(['1', '2', '3'].map((id) => member(id, FOLLOWS))), undefined, ''],
    ['waits for one that is behind', second(behind(1_001)), 'etcd-members', `${AWAY} (m2: 1001 entries behind)`],
    ['does not wait for the last entries', second(behind(900)), 'etcd-leader', TO('m2')],
    ['waits for one that does not answer', second('no answer'), 'etcd-members', `${AWAY} (m2: no answer)`],
    ['waits for one that is ill', second({ ...STATUS, errors: ['NOSPACE'] }), 'etcd-members', `${AWAY} (m2: NOSPACE)`],
    ['counts no learner', leaving([ONE, TWO, member('3', { isLearner: true })]), 'etcd-leader', TO('m2')],
    [
      'may leave of five where one of the others is away',
      leaving([ONE, TWO, THREE, member('4'), member('5', { status: 'no answer' })]),
      'etcd-leader',
      TO('m2'),
    ],
    ['waits for nothing where it is the only one', leaving([ONE]), undefined, ''],
    ['waits for nothing without an etcd of its own', { ...leaving([]), etcd: undefined }, undefined, ''],
    ['waits for its own etcd', { ...leaving([]), etcd: 'no' }, 'etcd-leader', 'etcd does not tell who leads: no'],
    ['only hands the lead over without an API server', second('no', { isOffline: true }), 'etcd-leader', TO('m3')],
  ];
  for (const [what, facts, wait, message] of cases)
    it(what, () => {
      const step = leavingStep(facts, NONE);
      assert.deepEqual([step?.wait, step?.message ?? ''], [wait, message]);
      if (wait !== undefined) assert.ok(step?.holds.includes('kube-scheduler'), 'no manifest moves before');
    });

  it('goes on with the next thing when the time for one is over, and in the end with nothing', () => {
    const facts = leaving([ONE, member('2', { status: 'no answer' }), THREE]);
    assert.equal(leavingStep(facts, new Set(['etcd-members']))?.moveTo?.id, '3');
    assert.equal(leavingStep(facts, new Set(['etcd-members', 'etcd-leader'])), undefined);
  });
});

describe('a member of the control plane that comes back', () => {
  const seen = (status: EtcdMember['status'], isLearner = false): LeavingFacts['etcd'] => ({
    self: '1',
    members: [member('1', { status, isLearner }), TWO],
  });
  const cases: readonly (readonly [string, LeavingFacts['etcd'], boolean | undefined, MemberWait | undefined])[] = [
    ['begins with etcd', 'it is put back first', false, 'etcd-start'],
    ['waits until etcd is in step', seen(behind(5_000)), false, 'etcd-start'],
    ['waits while etcd has no leader', seen({ ...STATUS, leader: '0' }), false, 'etcd-start'],
    ['waits while it is a learner', seen(STATUS, true), false, 'etcd-start'],
    ['then waits for the API server', seen(STATUS), false, 'api-server-start'],
    ['waits for the API server alone where etcd is elsewhere', undefined, false, 'api-server-start'],
    ['has the others back last', seen(STATUS), true, undefined],
    ['waits for no API server that does not say whether it is ready', seen(STATUS), undefined, undefined],
  ];
  for (const [what, etcd, isReady, wait] of cases)
    it(what, () => {
      assert.equal(returningStep({ etcd, isReady }, NONE)?.wait, wait);
      assert.equal(returningStep({ etcd, isReady }, new Set(['etcd-start', 'api-server-start'])), undefined);
    });
});

describe('the waits of a member of the control plane', () => {
  it('end after their time, and after a tenth of the time until a deadline', () => {
    const since = new Map<MemberWait, number>([['etcd-members', 1_000]]);
    assert.equal(waitsOver(since, 60_999).size, 0);
    assert.equal(waitsOver(since, 61_000).size, 1);
    assert.equal(waitsOver(since, 9_999, 90_000).size, 0);
    assert.equal(waitsOver(since, 10_000, 90_000).size, 1);
    assert.equal(waitsOver(since, 1_000, -5).size, 1);
  });
});
