import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SOURCE_ANNOTATION } from '../../../../src/api/names.ts';
import { type PodSource, type RunningSandbox, runningPods } from '../../../../src/decide/shutdown/running-pods.ts';

const BEGAN = 1_000_000;

function sandbox(podName: string, source: string | undefined, other: Partial<RunningSandbox> = {}): RunningSandbox {
  const annotations = source === undefined ? {} : { [SOURCE_ANNOTATION]: source };
  return { namespace: 'default', podName, annotations, runningContainers: 1, createdAt: BEGAN - 1, ...other };
}

/** A pod that the kubelet saw first then, with a sandbox that is younger than the shutdown. */
function anew(seen: string): RunningSandbox {
  const annotations = { [SOURCE_ANNOTATION]: 'api', 'kubernetes.io/config.seen': seen };
  return sandbox('web', 'api', { annotations, createdAt: BEGAN + 1 });
}

describe('the pods that run on a machine that is said to be drained', () => {
  const rows: readonly [string, RunningSandbox, readonly PodSource[], readonly string[]][] = [
    ['a pod of the API server', sandbox('web', 'api'), ['api', 'file'], ['default/web']],
    ['a static pod', sandbox('etcd', 'file'), ['api', 'file'], ['default/etcd']],
    ['a static pod where another reason is known', sandbox('etcd', 'file'), ['api'], []],
    ['a pod from a URL', sandbox('web', 'http'), ['api', 'file'], []],
    ['a pod of no kubelet', sandbox('web', undefined), ['api', 'file'], []],
    ['a pod whose containers have ended', sandbox('web', 'api', { runningContainers: 0 }), ['api'], []],
    ['a pod whose sandbox was made anew', anew('1970-01-01T00:16:39.5Z'), ['api'], ['default/web']],
    ['a pod that came later, with a new sandbox', anew('1970-01-01T00:16:41Z'), ['api'], []],
    ['a pod of whose begin nothing is known', anew('yesterday'), ['api'], []],
    ['a pod that came later', sandbox('web', 'api', { createdAt: BEGAN }), ['api'], []],
  ];
  for (const [title, pod, sources, names] of rows) {
    it(`${title}: ${names.length === 0 ? 'not waited for' : 'waited for'}`, () => {
      assert.deepEqual(runningPods([pod], sources, BEGAN), names);
    });
  }

  it('a pod with several sandboxes is named once, and names are in order', () => {
    const all = [sandbox('web', 'api'), sandbox('db', 'api'), sandbox('web', 'api')];
    assert.deepEqual(runningPods(all, ['api'], BEGAN), ['default/db', 'default/web']);
  });
});
