import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type KubeletService,
  type ProcessFacts,
  rootCgroupsOf,
  trustKubelets,
} from '../../../../src/decide/machine/kubelet-trust.ts';

const KUBELET: ProcessFacts = {
  pid: 700,
  program: 'kubelet',
  name: 'kubelet',
  uids: [0, 0, 0, 0],
  pidNamespaces: 1,
  cgroups: ['/system.slice/kubelet.service'],
};
const UNIT: KubeletService = { unit: 'kubelet.service', mainPid: 700, controlGroup: '/system.slice/kubelet.service' };
const POD = '/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/cri-containerd-ab.scope';

function judge(process: Partial<ProcessFacts>, roots: string[] = [], asker = 0): string {
  const { trusted, refused } = trustKubelets([{ ...KUBELET, ...process }], [], roots, asker);
  assert.equal(trusted.length + refused.length, 1);
  return trusted.length === 1 ? 'believed' : (refused[0]?.reason ?? '');
}

const alone: [string, Partial<ProcessFacts>, RegExp][] = [
  ["root's, in no unit that is known", {}, /^believed$/],
  ['hyperkube', { program: 'hyperkube', name: 'hyperkube' }, /^believed$/],
  ['k3s, which renames itself', { program: 'k3s', name: 'k3s-server' }, /^believed$/],
  ['one of a user', { uids: [1000, 1000, 1000, 1000] }, /user ids are 1000, 1000/],
  ['a program with the set-uid bit that a user started', { uids: [1000, 0, 0, 0] }, /not all 0/],
  ['one that root may become a user', { uids: [0, 0, 1000, 0] }, /not all 0/],
  ['one of which the kernel tells nothing', { uids: [] }, /not all 0/],
  ['one in a container', { pidNamespaces: 2 }, /PID namespace of its own/],
  ['one with no PID', { pidNamespaces: 0 }, /PID namespace/],
  ['a pod with hostPID', { cgroups: [POD] }, /runs in a container/],
  ['a pod with hostPID on cgroup v1', { cgroups: ['/', '/kubepods/burstable/pod1/ab', '/'] }, /runs in a container/],
  ['a pod with hostPID under a cgroup root', { cgroups: ['/my.slice/my-kubepods.slice/x'] }, /runs in a container/],
  ['a pod without a group of its pod', { cgroups: ['/k8s.io/ab12'] }, /runs in a container/],
  ['a container of CRI-O', { cgroups: ['/system.slice/crio-ab.scope'] }, /runs in a container/],
  ['a container of Docker', { cgroups: ['/system.slice/docker-ab.scope'] }, /runs in a container/],
  ['a container of Docker by cgroupfs', { cgroups: ['/docker/ab'] }, /runs in a container/],
  ['a container of podman', { cgroups: ['/machine.slice/libpod-ab.scope'] }, /runs in a container/],
  ['one in the session of a user', { cgroups: ['/user.slice/user-0.slice/session-1.scope'] }, /session of a user/],
  ['a unit of a user', { cgroups: ['/user.slice/user-1.slice/user@1.service/app.slice/sshd.service'] }, /of a user/],
  ['one without control groups', { cgroups: [] }, /control group is not known/],
  ['another program that a user gave the name', { name: 'sudo' }, /executable is called sudo/],
];

describe('a process that calls itself a kubelet, while no unit has one', () => {
  for (const [name, process, expected] of alone) {
    it(`a process ${String(expected) === '/^believed$/' ? 'is believed' : 'is refused'}: ${name}`, () => {
      assert.match(judge(process), expected);
    });
  }

  it('a process may run in a container that is the whole machine for the agent', () => {
    const node = '/docker/ab';
    const kubelet = { cgroups: [`${node}/system.slice/kubelet.service`] };
    const roots = rootCgroupsOf(['/docker/ab/init.scope', '/']);
    assert.deepEqual(roots, [node]);
    assert.equal(judge(kubelet, [...roots]), 'believed');
    assert.match(judge({ cgroups: [`${node}${POD}`] }, [...roots]), /runs in a container/);
    assert.match(judge({ cgroups: ['/docker/abc/x'] }, [...roots]), /runs in a container/);
  });
});

const USER = 1000;
const OF_USER = { uids: [USER, USER, USER, USER] };
const SESSION = { cgroups: ['/user.slice/user-1000.slice/session-1.scope'] };

describe('a process that calls itself a kubelet, for a command that an ordinary user runs', () => {
  for (const [name, process, expected] of [
    ["root's", {}, /^believed$/],
    ["the user's own", OF_USER, /^believed$/],
    ["the user's own in a session", { ...OF_USER, ...SESSION }, /^believed$/],
    ["root's in a session", SESSION, /session of a user/],
    ["another user's", { uids: [7, 7, 7, 7] }, /user ids are 7, 7/],
    ['one that may become root', { uids: [USER, USER, 0, USER] }, /not all 0/],
    ["the user's own in a container", { ...OF_USER, pidNamespaces: 2 }, /PID namespace of its own/],
  ] as [string, Partial<ProcessFacts>, RegExp][]) {
    it(`a process ${String(expected) === '/^believed$/' ? 'is believed' : 'is refused'}: ${name}`, () => {
      assert.match(judge(process, [], USER), expected);
    });
  }
});

describe('the kubelet that a unit of systemd has', () => {
  const believed = (processes: Partial<ProcessFacts>[], services = [UNIT]): string => {
    const { trusted, refused } = trustKubelets(
      processes.map((each) => ({ ...KUBELET, ...each })),
      services,
      [],
      0,
    );
    return `${trusted.map(({ pid }) => pid).join(',')} not ${refused.map(({ pid }) => pid).join(',')}`;
  };

  it('the kubelet of a unit is believed, whatever its executable is called, and no other beside it', () => {
    const beside = { pid: 65, cgroups: ['/system.slice/cron.service'] };
    assert.equal(believed([{ name: 'wrapper' }, beside]), '700 not 65');
  });

  it('the kubelet of a unit may be a child of its main process, also in a group below', () => {
    const rke2 = { unit: 'rke2-server.service', mainPid: 5, controlGroup: '/system.slice/rke2-server.service' };
    assert.equal(believed([{ cgroups: ['/system.slice/rke2-server.service/kubelet'] }], [rke2]), '700 not ');
    const other = { pid: 9, cgroups: ['/system.slice/rke2-server.service.d/x'] };
    assert.equal(believed([{ cgroups: ['/system.slice/rke2-server.service'] }, other], [rke2]), '700 not 9');
  });

  it('a process is not the kubelet of a unit where the unit has no group of its own', () => {
    const bare = { unit: 'kubelet.service', mainPid: 5, controlGroup: '/' };
    assert.equal(believed([{ name: 'sudo' }], [bare]), ' not 700');
  });

  it('the kubelet of a unit is refused all the same where it is not root, or a container', () => {
    assert.equal(believed([{ uids: [7, 7, 7, 7] }]), ' not 700');
    assert.equal(believed([{ pidNamespaces: 2 }]), ' not 700');
  });

  it('several kubelets of units are taken in the order of their numbers', () => {
    const two = { unit: 'k3s.service', mainPid: 28_364, controlGroup: '/system.slice/k3s.service' };
    const k3s = { pid: 28_364, cgroups: ['/system.slice/k3s.service'] };
    assert.equal(believed([k3s, {}, { pid: 1001, uids: [65_534, 0, 0, 0] }], [UNIT, two]), '700,28364 not 1001');
  });
});
