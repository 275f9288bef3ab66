import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodVolume } from '../../../src/api/pod.ts';
import { orderOfLeaving, usesDriver, volumesThatMatter } from '../../../src/decide/plugin-pods.ts';

const hostPath = (path: string): PodVolume => ({ hostPath: { path } });

/** A volume; in which order a DaemonSet pod with it leaves, and whether a pod with it uses a driver. */
const volumes: [string, PodVolume, 0 | 1 | 2, boolean][] = [
  ['the registry of the kubelet', hostPath('/var/lib/kubelet/plugins_registry'), 1, false],
  ['the same with a slash, of another kubelet', hostPath('/data/kubelet/plugins_registry/'), 1, false],
  ['a folder below the registry', hostPath('/var/lib/kubelet/plugins_registry/x'), 0, false],
  ['all plugins', hostPath('/var/lib/kubelet/plugins'), 0, false],
  ['the configuration of the network', hostPath('/etc/cni/net.d'), 2, false],
  ['the plugins of the network', hostPath('/opt/cni/bin/'), 2, false],
  ['a folder beside them', hostPath('/opt/cni/binaries'), 0, false],
  ['another folder of the host', hostPath('/var/log'), 0, false],
  ['a claim', { persistentVolumeClaim: {} }, 0, true],
  ['an inline volume of a driver', { csi: { driver: 'secrets.csi' } }, 0, true],
  ['an ephemeral claim', { ephemeral: {} }, 0, true],
];

describe('the volumes of a pod', () => {
  for (const [what, volume, order, uses] of volumes) {
    it(`a pod with ${what} leaves in the order ${order}, and ${uses ? 'uses' : 'does not use'} a driver`, () => {
      const pod = { spec: { volumes: [volume] } };
      assert.deepEqual([orderOfLeaving(pod), usesDriver(pod)], [order, uses]);
    });

    it(`a copy of a pod with ${what} is judged as the pod`, () => {
      const kept = { spec: { volumes: volumesThatMatter([volume, hostPath('/etc')]) ?? [] } };
      assert.deepEqual([orderOfLeaving(kept), usesDriver(kept)], [order, uses]);
    });
  }

  it('nothing is kept of a pod without such volumes', () => {
    assert.equal(volumesThatMatter([hostPath('/var/log'), {}]), undefined);
    assert.equal(volumesThatMatter(), undefined);
    assert.equal(orderOfLeaving({ spec: {} }), 0);
  });
});
