import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { transformPod, withoutManagers } from '../../../../src/kube/cache/transform.ts';

function pod(name: string, more: object = {}): Pod {
  const annotations = {
    'kubernetes.io/config.mirror': 'abc',
    'coordination.x-k8s.io/evict-policy': 'ControllerTakeOver',
    'kubernetes.io/pod-evict-wanted': 'true',
    'interceptor.evictionrequest.coordination.k8s.io/priority_a.example.com': '1/x',
    'evacuation.coordination.k8s.io/priority_b.example.com': '2/x',
    'descheduler.alpha.kubernetes.io/request-evict-only': '',
    'example.com/of-somebody-else': 'x'.repeat(10_000),
  };
  const metadata = {
    name,
    namespace: 'team',
    uid: `uid-${name}`,
    resourceVersion: '7',
    finalizers: ['example.com/f'],
    labels: { app: 'web' },
    annotations,
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u', controller: true }],
    managedFields: [{}],
    generateName: 'web-',
  };
  return { metadata, spec: { nodeName: 'n1', priority: 3, containers: [{}] }, status: { phase: 'Running' }, ...more };
}

describe('the copy of a pod', () => {
  it('keeps what the rules read, and of the annotations only those', () => {
    const { metadata, spec } = transformPod(pod('a'));
    const { 'example.com/of-somebody-else': _, ...read } = pod('a').metadata.annotations ?? {};
    assert.deepEqual(metadata.annotations, read);
    const { annotations: __, ...others } = metadata;
    assert.deepEqual(others, {
      name: 'a',
      namespace: 'team',
      uid: 'uid-a',
      resourceVersion: '7',
      finalizers: ['example.com/f'],
      labels: { app: 'web' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u', controller: true }],
    });
    assert.deepEqual(spec, { nodeName: 'n1', priority: 3 });
  });

  it('keeps who wrote the annotation of an eviction in the background, and when, where a pod has it', () => {
    const annotation = 'descheduler.alpha.kubernetes.io/eviction-in-progress';
    const fieldsV1 = { 'f:metadata': { 'f:annotations': { [`f:${annotation}`]: {} } } };
    const metadata = {
      name: 'a',
      annotations: { [annotation]: '' },
      managedFields: [
        { manager: 'kubelet', time: '2026-01-01T00:00:00Z', fieldsV1: { 'f:metadata': { 'f:annotations': {} } } },
        { manager: 'virt', time: '2026-01-02T00:00:00Z', fieldsV1: { ...fieldsV1, 'f:spec': {} } },
        {},
      ],
    };
    const expected = [{ manager: 'virt', time: '2026-01-02T00:00:00Z', fieldsV1 }];
    assert.deepEqual(transformPod({ metadata, spec: {} }).metadata.managedFields, expected);
    const found = transformPod({ metadata: { ...metadata, annotations: {} }, spec: {} }).metadata.managedFields;
    assert.equal(found, undefined);
  });

  it('keeps of the volumes those that a driver has to do with, and which are lost with the pod, without their names', () => {
    const volumes = [
      { name: 'a', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'b', emptyDir: {} },
      { name: 'c', csi: { driver: 'secrets.example.com', volumeAttributes: { secret: 'x' } } },
      { name: 'd', hostPath: { path: '/var/lib/kubelet/plugins_registry/', type: 'Directory' } },
      { name: 'e', hostPath: { path: '/var/log' } },
      { name: 'f', hostPath: { path: '/etc/cni/net.d' } },
      { name: 'g', ephemeral: { volumeClaimTemplate: {} } },
    ];
    assert.deepEqual(transformPod(pod('a', { spec: { nodeName: 'n1', volumes } })).spec.volumes, [
      { persistentVolumeClaim: {} },
      { emptyDir: {} },
      { csi: { driver: 'secrets.example.com' } },
      { hostPath: { path: '/var/lib/kubelet/plugins_registry/' } },
      { hostPath: { path: '/etc/cni/net.d' } },
      { persistentVolumeClaim: {} },
    ]);
  });
});

describe('the copy of an EvictionRequest', () => {
  it('has everything but managedFields', () => {
    const request = {
      apiVersion: 'coordination.x-k8s.io/v1alpha1',
      kind: 'EvictionRequest',
      metadata: { name: 'u', namespace: 'team', uid: 'x', labels: { a: 'b' }, annotations: { c: 'd' }, generation: 2 },
      spec: { target: { pod: { name: 'web', uid: 'u' } }, requesters: [{ name: 'somebody.example.com' }] },
      status: { observedGeneration: 2, activeInterceptors: ['a.example.com'], interceptors: [] },
    } as EvictionRequest;
    const read = { ...request, metadata: { ...request.metadata, managedFields: [{}] } };
    assert.deepEqual(withoutManagers(read), request);
  });
});
