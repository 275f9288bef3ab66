import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { interceptorsOf } from '../../../../src/decide/eviction/interceptors.ts';

function pod(extra: Partial<Pod> = {}, annotations: Record<string, string> = {}): Pod {
  return {
    metadata: { name: 'p-1', namespace: 'default', uid: 'u-1', annotations },
    spec: { nodeName: 'n' },
    ...extra,
  };
}

describe('the interceptors of a pod', () => {
  const daemon = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true };
  it('the interceptors of a pod come from annotations by falling priority, the Eviction API last', () => {
    const annotations = {
      'interceptor.evictionrequest.coordination.k8s.io/priority_low.example.com': '10/controller',
      'evacuation.coordination.k8s.io/priority_high.example.com': '20000/controller',
      'interceptor.evictionrequest.coordination.k8s.io/priority_not a name': '5/x',
    };
    const { names, ignored } = interceptorsOf(pod({}, annotations));
    assert.deepEqual(names, ['high.example.com', 'low.example.com', 'imperative-eviction.k8s.io']);
    assert.equal(ignored.length, 1);
    assert.match(ignored[0] ?? '', /priority_not a name names no interceptor that is allowed/);
  });
  it('the interceptors of a pod include no unknown name of the reserved domain, and have a priority', () => {
    const prefix = 'interceptor.evictionrequest.coordination.k8s.io/priority_';
    const annotations = {
      [`${prefix}mine.k8s.io`]: '5/x',
      [`${prefix}a.example.com`]: 'high',
      [`${prefix}b.example.com`]: '01',
    };
    const { names, ignored } = interceptorsOf(pod({}, annotations));
    assert.deepEqual(names, ['imperative-eviction.k8s.io']);
    assert.equal(ignored.length, 3);
  });
  it('the interceptors of a pod include no built-in one of another type of pods, which would act on none of them', () => {
    const prefix = 'interceptor.evictionrequest.coordination.k8s.io/priority_';
    const builtIn = ['kubelet.k8s.io', 'daemonset.apps.k8s.io'];
    const annotations = Object.fromEntries(builtIn.map((name) => [`${prefix}${name}`, '20000/controller']));
    const byAnnotation = interceptorsOf(pod({}, annotations));
    assert.deepEqual(byAnnotation.names, ['imperative-eviction.k8s.io']);
    assert.equal(byAnnotation.ignored.length, 2);
    const byField = interceptorsOf(pod({ spec: { evictionInterceptors: builtIn.map((name) => ({ name })) } }));
    assert.deepEqual(byField.names, ['imperative-eviction.k8s.io']);
    const controllers = pod({}, { [`${prefix}deployment.apps.k8s.io`]: '10000/controller' });
    assert.deepEqual(interceptorsOf(controllers).names, ['deployment.apps.k8s.io', 'imperative-eviction.k8s.io']);
    const owned = pod({ metadata: { name: 'p-1', ownerReferences: [daemon], annotations } });
    assert.deepEqual(interceptorsOf(owned).names, ['daemonset.apps.k8s.io', 'imperative-eviction.k8s.io']);
  });
  it('the interceptors of a pod include the kubelet for mirror pods and the DaemonSet controller for its pods', () => {
    assert.deepEqual(interceptorsOf(pod({}, { 'kubernetes.io/config.mirror': 'x' })).names, [
      'kubelet.k8s.io',
      'imperative-eviction.k8s.io',
    ]);
    const owned = pod({ metadata: { name: 'p-1', ownerReferences: [daemon] } });
    assert.deepEqual(interceptorsOf(owned).names, ['daemonset.apps.k8s.io', 'imperative-eviction.k8s.io']);
  });
  it('the interceptors of a pod follow the field where the pod has it', () => {
    const spec = { evictionInterceptors: [{ name: 'b.example.com' }, { name: 'a.example.com' }] };
    assert.deepEqual(interceptorsOf(pod({ spec })).names, [
      'b.example.com',
      'a.example.com',
      'imperative-eviction.k8s.io',
    ]);
  });
  it('the interceptors of a pod are never more than fifteen', () => {
    const names = Array.from({ length: 30 }, (_, index) => ({ name: `i${index}.example.com` }));
    const selection = interceptorsOf(pod({ spec: { evictionInterceptors: names } }));
    assert.equal(selection.names.length, 15);
    assert.equal(selection.ignored.length, 16);
    const mirror = pod({ spec: { evictionInterceptors: names } }, { 'kubernetes.io/config.mirror': 'x' });
    assert.ok(interceptorsOf(mirror).names.includes('kubelet.k8s.io'), 'the only one that can end it');
  });
});
