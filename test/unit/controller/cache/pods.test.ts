import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { createPodIndex } from '../../../../src/controller/cache/pods.ts';
import { cacheOfMap } from '../../../support/maintenance/indexes.ts';

describe('the index of pods', () => {
  const podOn = (nodeName: string | undefined, phase = 'Running'): Pod => ({
    metadata: { name: 'p', namespace: 'n' },
    spec: nodeName === undefined ? {} : { nodeName },
    status: { phase },
  });

  it('the index of pods names the nodes that become empty, or are empty no longer', () => {
    const pods = new Map<string, Pod>();
    const index = createPodIndex(cacheOfMap(pods), Date);
    const turned = (key: string, pod: Pod | undefined): readonly string[] => {
      if (pod === undefined) pods.delete(key);
      else pods.set(key, pod);
      return index.note(key).turned;
    };
    assert.deepEqual(turned('n/a', podOn('one')), ['one']);
    assert.deepEqual(turned('n/a', podOn('one')), []);
    assert.deepEqual(turned('n/b', podOn('one')), []);
    assert.deepEqual(turned('n/unbound', podOn(undefined)), []);
    assert.equal(index.on('one').length, 2);
    assert.deepEqual(turned('n/a', podOn('one', 'Succeeded')), []);
    assert.deepEqual(turned('n/b', podOn('two')), ['one', 'two']);
    assert.deepEqual([index.on('one').length, index.on('two').length], [0, 1]);
    assert.deepEqual(turned('n/b', undefined), ['two']);
  });

  it('the index of pods finds those that wait for one node, until they are bound', () => {
    const requirement = { key: 'metadata.name', operator: 'In', values: ['one'] };
    const nodeSelectorTerms = [{ matchFields: [requirement] }];
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
    const pod: Pod = { metadata: { name: 'p', namespace: 'n' }, spec: { affinity: { nodeAffinity } } };
    const pods = new Map([['n/p', pod]]);
    const index = createPodIndex(cacheOfMap(pods), Date);
    assert.deepEqual(index.note('n/p').nodes, ['one']);
    assert.deepEqual(index.meantFor('one'), [pod]);
    pods.set('n/p', podOn('one'));
    assert.deepEqual(index.note('n/p').turned, ['one']);
    assert.deepEqual([index.meantFor('one').length, index.on('one').length], [0, 1]);
  });
});
