import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { componentOfManifest, leaveRank, portsOfMachine } from '../../../../src/decide/static-pod/control-plane-pod.ts';

const withImage = (image: unknown, command?: unknown) => ({ name: 'x', labels: {}, containers: [{ image, command }] });

describe('the control plane of a node', () => {
  for (const [what, look, expected] of [
    ['the image of kubeadm', withImage('registry.k8s.io/etcd:3.5.1-0'), 'etcd'],
    ['the image of RKE2, with a digest', withImage('index.docker.io/rancher/hardened-etcd@sha256:0'), 'etcd'],
    [
      'the program of an image with many',
      withImage('rancher/kubernetes:1', ['/bin/kube-apiserver', '--v=1']),
      'kube-apiserver',
    ],
    ['the image of a proxy', withImage('docker.io/library/nginx:1.29-alpine'), 'proxy'],
    ['the image of the proxy of k0s', withImage('quay.io/k0sproject/envoy-distroless:v1.34.1'), 'proxy'],
    ['label and name', { name: 'etcd', labels: { component: 'etcd' }, containers: [{}] }, 'etcd'],
    ['label and name of OpenShift', { name: 'etcd-m0', labels: { 'k8s-app': 'etcd' }, containers: [] }, 'etcd'],
    ['a label alone', { name: 'web', labels: { component: 'etcd' }, containers: [] }, undefined],
    ['a name alone', { name: 'etcd', labels: {}, containers: [] }, undefined],
    ['a name that only begins so', { name: 'etcdctl', labels: { component: 'etcd' }, containers: [] }, undefined],
    ['an image whose tag says so', withImage('example.com/tool:etcd'), undefined],
    ['containers that are none', { name: 'x', labels: {}, containers: { image: 'etcd' } }, undefined],
    ['fields that are none', withImage(7, 'etcd'), undefined],
  ] as const) {
    it(`the control plane of a node ${expected === undefined ? 'is not known by' : `is known by`} ${what}`, () => {
      assert.equal(componentOfManifest(look), expected);
    });
  }

  it('a pod listens on the machine by its ports with the network of the machine, else by a hostPort', () => {
    const ports = [{ containerPort: 1, hostPort: 2 }, null, { containerPort: 'x' }];
    const containers = [null, { ports }, {}];
    assert.deepEqual(portsOfMachine({ containers }), [2]);
    assert.deepEqual(portsOfMachine({ containers, hostNetwork: true }), [2, 1]);
    assert.deepEqual(portsOfMachine({ containers: { ports } }), []);
  });

  it('the control plane of a node leaves last, etcd after the API server that writes in it', () => {
    assert.ok(leaveRank(undefined) < leaveRank('proxy'));
    assert.ok(leaveRank('proxy') < leaveRank('kube-apiserver'));
    assert.ok(leaveRank('kube-apiserver') < leaveRank('etcd'));
  });
});
