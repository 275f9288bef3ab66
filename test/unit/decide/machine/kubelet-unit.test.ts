import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  chooseKubeletUnit,
  type KubeletHome,
  runtimeUnitOf,
  serviceOf,
} from '../../../../src/decide/machine/kubelet-unit.ts';

const services: [string, string, string | undefined][] = [
  ['kubeadm on cgroup v2', '0::/system.slice/kubelet.service\n', 'kubelet.service'],
  ['k3s on a hybrid', '2:cpu:/\n1:name=systemd:/system.slice/k3s.service\n0::/other.service\n', 'k3s.service'],
  ['a delegated group below RKE2', '0::/system.slice/rke2-agent.service/kubelet\n', 'rke2-agent.service'],
  ['a snap', '0::/system.slice/snap.kubelet.daemon.service\n', 'snap.kubelet.daemon.service'],
  ['a template', '0::/system.slice/system-kubelet.slice/kubelet@a\\x2db.service\n', 'kubelet@a\\x2db.service'],
  ['a shell of a person', '0::/user.slice/user-0.slice/session-3.scope\n', undefined],
  ['no cgroup of systemd', '3:cpu:/system.slice/kubelet.service\n', undefined],
  ['a process that has ended', '', undefined],
  ['a path that is none', '0::/x/$(reboot).service\n', undefined],
];

describe('the service of a process', () => {
  for (const [name, text, expected] of services) {
    it(`the service of a process is found for ${name}`, () => {
      assert.equal(serviceOf(text), expected);
    });
  }
});

const K3S: KubeletHome = { unit: 'k3s.service', runtime: 'containerd' };
const SNAP: KubeletHome = { unit: 'snap.kubelet.daemon.service', runtime: undefined };
const choices: [string, string | undefined, KubeletHome | undefined, string][] = [
  ['the one in which the kubelet runs', undefined, SNAP, 'snap.kubelet.daemon.service'],
  ['the usual one while no kubelet runs', undefined, undefined, 'kubelet.service'],
  ['the usual one for a kubelet in no service', undefined, { ...SNAP, unit: undefined }, 'kubelet.service'],
  ['the configured one first', 'mine.service', SNAP, 'mine.service'],
  ['none where it would take the runtime along', undefined, K3S, 'none'],
  ['none where a configured one would', 'k3s.service', K3S, 'none'],
  ['a configured one that leaves the runtime alone', 'k3s-kubelet.service', K3S, 'k3s-kubelet.service'],
  ['none where the configuration says so', '', SNAP, 'none'],
];

describe('the unit that is stopped for an offline drain', () => {
  for (const [name, configured, home, expected] of choices) {
    it(`the unit is ${name}`, () => {
      const choice = chooseKubeletUnit(configured, home);
      assert.equal(choice.kind === 'unit' ? choice.unit : choice.kind, expected);
    });
  }
});

describe('the unit of the container runtime', () => {
  it('the unit follows from the usual sockets, and is not known of a runtime in the unit of a kubelet', () => {
    assert.deepEqual(
      ['unix:///run/containerd/containerd.sock', '/var/run/crio/crio.sock', 'unix:///run/cri-dockerd.sock'].map(
        runtimeUnitOf,
      ),
      ['containerd.service', 'crio.service', 'cri-docker.service'],
    );
    assert.equal(runtimeUnitOf('unix:///run/k3s/containerd/containerd.sock'), undefined);
  });
});
