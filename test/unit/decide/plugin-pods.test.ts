import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodVolume } from '../../../src/api/pod.ts';
import { pluginNamesOf, registersPlugin, usesDriver, volumesThatMatter } from '../../../src/decide/plugin-pods.ts';

const hostPath = (path: string): PodVolume => ({ hostPath: { path } });

/** A volume; whether a pod with it registers a driver, of which drivers it has sockets, and whether it uses one. */
const volumes: [string, PodVolume, boolean, readonly string[], boolean][] = [
  ['the registry of the kubelet', hostPath('/var/lib/kubelet/plugins_registry'), true, [], false],
  ['the same with a slash, of another kubelet', hostPath('/data/kubelet/plugins_registry/'), true, [], false],
  ['a folder below the registry', hostPath('/var/lib/kubelet/plugins_registry/x'), false, [], false],
  ['the socket of a driver', hostPath('/var/lib/kubelet/plugins/ebs.csi.aws.com/'), false, ['ebs.csi.aws.com'], false],
  ['a file of a driver', hostPath('/var/lib/kubelet/plugins/x/csi.sock'), false, ['x'], false],
  ['all plugins', hostPath('/var/lib/kubelet/plugins'), false, [], false],
  ['another folder of the host', hostPath('/var/log'), false, [], false],
  ['a claim', { persistentVolumeClaim: {} }, false, [], true],
  ['an inline volume of a driver', { csi: { driver: 'secrets.csi' } }, false, [], true],
  ['an ephemeral claim', { ephemeral: {} }, false, [], true],
];

describe('the volumes of a pod', () => {
  for (const [what, volume, registers, names, uses] of volumes) {
    it(`a pod with ${what} ${registers ? 'registers a driver' : uses ? 'uses a driver' : 'is judged by its path'}`, () => {
      const pod = { spec: { volumes: [volume] } };
      assert.equal(registersPlugin(pod), registers);
      assert.deepEqual(pluginNamesOf(pod), names);
      assert.equal(usesDriver(pod), uses);
    });

    it(`a copy of a pod with ${what} is judged as the pod`, () => {
      const kept = { spec: { volumes: volumesThatMatter([volume, hostPath('/etc')]) ?? [] } };
      assert.equal(registersPlugin(kept), registers);
      assert.deepEqual(pluginNamesOf(kept), names);
      assert.equal(usesDriver(kept), uses);
    });
  }

  it('nothing is kept of a pod without such volumes', () => {
    assert.equal(volumesThatMatter([hostPath('/var/log'), {}]), undefined);
    assert.equal(volumesThatMatter(), undefined);
    assert.equal(registersPlugin({ spec: {} }), false);
  });
});
