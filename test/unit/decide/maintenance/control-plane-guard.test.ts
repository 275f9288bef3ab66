import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type GuardedDrain,
  guardControlPlane,
  guardJoiningNodes,
  guardStaticPods,
  judgeControlPlane,
} from '../../../../src/decide/maintenance/control-plane-guard.ts';
import type { ControlPlaneMember } from '../../../../src/decide/maintenance/control-plane-members.ts';

function member(name: string, fault?: string): ControlPlaneMember {
  return { name, isStatic: true, ...(fault === undefined ? {} : { fault }) };
}

describe('the guard of the control plane', () => {
  const three = [member('a'), member('b'), member('c')];
  const judge = (
    members: readonly ControlPlaneMember[],
    leaving: readonly string[],
    away: readonly string[] = [],
  ): string => {
    const verdict = judgeControlPlane(members, new Set(leaving), new Set(away));
    return verdict.kind === 'safe' ? 'safe' : verdict.message;
  };
  it('the guard lets all workers be drained', () => {
    assert.equal(judge(three, ['w']), 'safe');
    assert.equal(judge([member('a', 'node not Ready')], ['w']), 'safe');
  });
  it('the guard lets one of three members be drained', () => {
    assert.equal(judge(three, ['a', 'w']), 'safe');
  });
  it('the guard holds back the second of three, whether asked at once, drained by another, or ill', () => {
    const expected = /leaves 1 of 3 members of the control plane at work, and etcd needs 2/;
    assert.match(judge(three, ['a', 'b']), expected);
    assert.match(judge(three, ['a'], ['b']), expected);
    assert.match(judge([member('a'), member('b', 'etcd not Ready'), member('c')], ['a']), expected);
  });
  it('the guard says why a member that stays does not count', () => {
    const members = [member('a'), member('b', 'etcd not Ready'), member('c')];
    assert.match(judge(members, ['a']), /and etcd needs 2 \(b: etcd not Ready\)$/);
    assert.equal(judge(members, ['b']), 'safe', 'what is not at work may leave');
  });
  it('the guard holds back the last one', () => {
    assert.equal(judge([member('a')], ['a']), 'draining a takes the last healthy member of the control plane');
  });
});

describe('drains of the control plane', () => {
  const three = [member('a'), member('b'), member('c')];
  const drain = (name: string, nodes: readonly string[], more: Partial<GuardedDrain> = {}): GuardedDrain => {
    return { name, createdAt: 0, begun: false, forced: false, nodes, joining: [], keep: [], comesBack: false, ...more };
  };
  const held = (drains: readonly GuardedDrain[]): readonly string[] => [...guardControlPlane(three, drains).keys()];

  it('the guard lets the oldest drain begin, and holds the others back until it has given its node back', () => {
    const [old, young] = [drain('z', ['a'], { createdAt: 1 }), drain('y', ['b'], { createdAt: 2 })];
    assert.deepEqual(held([young, old]), ['y']);
    assert.deepEqual(held([young]), []);
  });
  it('the guard stops no drain that has begun, nor a second maintenance of the same node', () => {
    assert.deepEqual(held([drain('old', ['a']), drain('begun', ['b'], { begun: true, createdAt: 9 })]), ['old']);
    assert.deepEqual(held([drain('begun', ['b'], { begun: true }), drain('again', ['b'])]), []);
  });
  it('a drain takes the member that reboots meanwhile, and goes on when that is back', () => {
    const reboot = drain('reboot', ['b'], { comesBack: true, begun: true });
    const gone = drain('gone', ['a'], { begun: true });
    assert.deepEqual(held([gone, reboot, drain('person', ['b'])]), ['person']);
    assert.deepEqual(held([reboot, drain('person', ['b'])]), []);
    assert.deepEqual(held([gone, reboot, drain('begun', ['b'], { begun: true }), drain('person', ['b'])]), []);
  });
  it('a machine that reboots waits until all others are at work that the quorum needs, or of which it is one', () => {
    const reboot = (name: string, more: Partial<GuardedDrain> = {}): GuardedDrain =>
      drain(`reboot-${name}`, [name], { comesBack: true, ...more });
    const heldOf = (members: readonly ControlPlaneMember[], drains: readonly GuardedDrain[]): readonly string[] => {
      return [...guardControlPlane(members, drains).keys()];
    };
    assert.deepEqual(heldOf([member('a')], [reboot('a')]), [], 'the only one');
    assert.deepEqual(heldOf([member('a'), member('b')], [reboot('a'), reboot('b')]), ['reboot-b']);
    assert.deepEqual(heldOf([member('a'), member('b', 'node not Ready')], [reboot('a')]), ['reboot-a']);
    assert.deepEqual(heldOf(three, [reboot('a'), reboot('b'), reboot('c')]), ['reboot-b', 'reboot-c']);
    assert.deepEqual(heldOf([member('a', 'node not Ready'), member('b'), member('c')], [reboot('b')]), ['reboot-b']);
    assert.deepEqual(heldOf(three, [drain('person', ['a'], { begun: true }), reboot('b')]), ['reboot-b']);
    assert.deepEqual(heldOf(three, [drain('person', ['a'], { begun: true }), reboot('a')]), []);
  });
  it('the guard lets a forced drain begin, and counts it', () => {
    assert.deepEqual(held([drain('all', ['a', 'b', 'c'], { forced: true })]), []);
    assert.deepEqual(held([drain('one', ['a'], { forced: true }), drain('two', ['b'], { createdAt: 1 })]), ['two']);
  });
  it('the guard lets a drain begin that leaves static pods alone where the control plane is static pods, and counts none of it', () => {
    const keep = ['Static'] as const;
    assert.deepEqual(held([drain('all', ['a', 'b', 'c'], { keep })]), []);
    assert.deepEqual(held([drain('one', ['a'], { keep }), drain('two', ['b'], { createdAt: 1 })]), []);
    assert.deepEqual(held([drain('others', ['a', 'b', 'c'], { keep: ['DaemonSet'] })]), ['others']);
    assert.deepEqual(held([drain('kept', ['a'], { keep }), drain('whole', ['a', 'b'], { createdAt: 1 })]), ['whole']);
    const servers = three.map((each) => ({ ...each, isStatic: false }));
    const throttled = guardControlPlane(servers, [drain('all', ['a', 'b', 'c'], { keep })]);
    assert.deepEqual([...throttled.keys()], ['all'], 'as with k3s, whose drained servers reboot');
    const joins = drain('m', ['a', 'b', 'c'], { begun: true, joining: ['b', 'c'], keep });
    assert.deepEqual(guardJoiningNodes(three, [joins]), new Map());
  });
  it('the guard holds back a member that joins a drain which has begun, and no worker', () => {
    const waiting = (joining: readonly string[], forced = false): readonly string[] => {
      const begun = drain('m', ['a', ...joining], { begun: true, joining, forced });
      return [...(guardJoiningNodes(three, [begun]).get('m')?.keys() ?? [])];
    };
    assert.deepEqual(waiting(['w']), []);
    assert.deepEqual(waiting(['b', 'w']), ['b']);
    assert.deepEqual(waiting(['b', 'c'], true), []);
    const worker = drain('m', ['w', 'a', 'b'], { begun: true, joining: ['a', 'b'] });
    assert.deepEqual([...(guardJoiningNodes(three, [worker]).get('m')?.keys() ?? [])], ['b'], 'one of three may go');
    const beside = guardJoiningNodes(three, [
      drain('other', ['b'], { begun: true }),
      { ...worker, nodes: ['w', 'a'], joining: ['a'] },
    ]);
    assert.deepEqual([...(beside.get('m')?.keys() ?? [])], ['a'], 'another drain counts');
  });
  it('the static pods of a drain that has begun stay while another member has fallen away', () => {
    const stays = (members: readonly ControlPlaneMember[], drains: readonly GuardedDrain[]): readonly string[] => [
      ...guardStaticPods(members, drains).keys(),
    ];
    const begun = (node: string, more: Partial<GuardedDrain> = {}): GuardedDrain =>
      drain(node, [node], { begun: true, comesBack: true, ...more });
    const crashed = [member('a'), member('b', 'node not Ready'), member('c')];
    assert.deepEqual(stays(three, [begun('a')]), []);
    assert.deepEqual(stays(crashed, [begun('a'), begun('w')]), ['a']);
    assert.deepEqual(stays(crashed, [begun('a', { forced: true })]), []);
    assert.deepEqual(stays(crashed, [begun('a', { keep: ['Static'] })]), []);
    assert.deepEqual(stays(three, [begun('a'), begun('b', { createdAt: 1 })]), ['b'], 'one after the other');
    assert.deepEqual(stays(three, [begun('a'), begun('b', { createdAt: 1, forced: true })]), ['a']);
    assert.deepEqual(stays(three, [drain('m', ['a', 'b'], { begun: true, joining: ['b'] })]), []);
  });
  it('the guard says what a forced drain would cost and how to go on', () => {
    const all = guardControlPlane(three, [drain('all', ['a', 'b', 'c'])]).get('all') ?? '';
    const expected = /^Throttled: draining a, b, c takes the last healthy member of the control plane; .*force=true\.$/;
    assert.match(all, expected);
  });
});
