import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareResponders, isParticipantName, respondersOf } from '../../../../src/decide/lifecycle/responders.ts';
import { A, EVICTOR, pod } from './objects.ts';

describe('the responders of a pod', () => {
  it('the responders follow in the order of the API server: priority, then domain from its end, then key', () => {
    const names = ['b.example.com/x', 'example.com/z', 'a.example.com/y', 'example.net/a', 'example.com/b'];
    const sorted = names.map((name) => ({ name, priority: 1000 })).toSorted(compareResponders);
    assert.deepEqual(
      sorted.map(({ name }) => name),
      ['example.com/b', 'example.com/z', 'a.example.com/y', 'b.example.com/x', 'example.net/a'],
    );
    const byPriority = [
      { name: 'a.io/a', priority: 1000 },
      { name: 'z.io/z', priority: 5000 },
    ].toSorted(compareResponders);
    assert.equal(byPriority[0]?.name, 'z.io/z');
  });

  it('the Eviction API comes last for a pod that it can end', () => {
    assert.deepEqual(respondersOf(pod()), [
      { name: A, priority: 1001 },
      { name: EVICTOR, priority: 100 },
    ]);
  });

  it('mirror and DaemonSet pods are not given to the Eviction API', () => {
    const mirror = pod({ annotations: { 'kubernetes.io/config.mirror': 'x' } });
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'u', controller: true };
    for (const each of [mirror, pod({ ownerReferences: [owner] })]) {
      assert.deepEqual(respondersOf(each), [{ name: A, priority: 1001 }]);
    }
  });

  it('a responder with a name or a priority that the API refuses is left out, and so is what is beyond the limit', () => {
    const bad = [
      { name: 'no-slash.example.com', priority: 1000 },
      { name: 'a/b/c', priority: 1000 },
      { name: 'low.example.com/x', priority: 999 },
      { name: 'high.example.com/x', priority: 100_001 },
    ];
    assert.deepEqual(
      respondersOf(pod({}, { evictionResponders: bad })).map(({ name }) => name),
      [EVICTOR],
    );
    const many = Array.from({ length: 20 }, (_, index) => ({ name: `r${index}.example.com/x`, priority: 1000 }));
    assert.equal(respondersOf(pod({}, { evictionResponders: many })).length, 11);
  });

  it('the agent of a node is a responder of the static pods of that node, and of no other pod', () => {
    const end = 'static.nodemaintenance.x-k8s.io/kubelet';
    const evictionResponders = ['n1', 'n2'].map((node) => ({ name: `${node}.${end}`, priority: 10_000 }));
    const namesOf = (annotations: Record<string, string>, nodeName?: string): readonly string[] => {
      const spec = nodeName === undefined ? { evictionResponders } : { evictionResponders, nodeName };
      return respondersOf(pod({ annotations }, spec)).map(({ name }) => name);
    };
    const mirror = { 'kubernetes.io/config.mirror': 'x' };
    assert.deepEqual(namesOf(mirror, 'n1'), [`n1.${end}`]);
    assert.deepEqual(namesOf(mirror, 'n3'), []);
    assert.deepEqual(namesOf(mirror), []);
    assert.deepEqual(namesOf({}, 'n1'), [EVICTOR]);
  });

  it('the name of a participant is a domain, one slash and a key', () => {
    for (const name of ['example.com/backup', 'a/b', EVICTOR]) assert.ok(isParticipantName(name), name);
    for (const name of ['', '/', 'a/', '/b', 'A.example.com/b', 'a..b/c', 'a/b/c', `a/${'x'.repeat(64)}`]) {
      assert.ok(!isParticipantName(name), name);
    }
  });
});
