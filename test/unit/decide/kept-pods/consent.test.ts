import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MIRROR_ANNOTATION } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { type Consent, keepPodsOf, missingConsent } from '../../../../src/decide/kept-pods/consent.ts';
import { transformPod } from '../../../../src/kube/cache/transform.ts';

const OWNED = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r', controller: true }],
};
const DAEMON = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }],
};
const SCRATCH = { volumes: [{ name: 'scratch', emptyDir: {} }] };

function pod(name: string, metadata: Partial<Pod['metadata']> = {}, spec: Pod['spec'] = {}, phase = 'Running'): Pod {
  return { metadata: { name, namespace: 'default', uid: name, ...metadata }, spec, status: { phase } };
}

const NOTHING: Consent = { keep: [], lose: [] };
const UNMANAGED = 'no controller owns these pods, and nothing would create them again: default/a';
const DATA = 'the data of these pods in emptyDir volumes would be lost: default/a';

/** Of the pod, what a drain is told that has this consent; as the API server has it, and as the controller keeps it. */
function told(of: Pod, consent: Consent = NOTHING): string | undefined {
  const said = missingConsent([of], consent);
  assert.equal(missingConsent([transformPod(of)], consent), said);
  return said;
}

describe('what a person agrees to with a drain', () => {
  it('a pod that nobody creates again, and one with data, need a flag each', () => {
    assert.equal(told(pod('a')), `${UNMANAGED}; use --delete-unmanaged, or leave them with --keep unmanaged`);
    const data = `${DATA}; use --delete-emptydir-data, or leave them with --keep emptydir`;
    assert.equal(told(pod('a', OWNED, SCRATCH)), data);
    assert.equal(told(pod('a', {}, SCRATCH), { keep: [], lose: ['Unmanaged'] }), data);
    assert.match(told(pod('a', {}, SCRATCH)) ?? '', /--keep unmanaged\. Also, the data/);
  });

  it('consent, and pods that stay, need no more words', () => {
    const both = pod('a', {}, SCRATCH);
    assert.equal(told(both, { keep: [], lose: ['Unmanaged', 'EmptyDir'] }), undefined);
    assert.equal(told(both, { keep: ['Unmanaged'], lose: [] }), undefined);
    assert.equal(told(both, { keep: ['EmptyDir'], lose: ['Unmanaged'] }), undefined);
    assert.equal(told(pod('a', OWNED)), undefined);
  });

  it('nothing is asked for what kubectl does not ask for', () => {
    for (const each of [
      pod('mirror', { annotations: { [MIRROR_ANNOTATION]: 'x' } }, SCRATCH),
      pod('daemon', DAEMON, SCRATCH),
      pod('done', {}, SCRATCH, 'Succeeded'),
      pod('failed', {}, SCRATCH, 'Failed'),
      pod('leaving', { deletionTimestamp: '2026-01-01T00:00:00Z' }, SCRATCH),
    ])
      assert.equal(told(each), undefined, each.metadata.name);
  });

  it('what nobody has agreed to lose stays, should it come before the drain', () => {
    assert.deepEqual(keepPodsOf(NOTHING), ['Unmanaged', 'EmptyDir']);
    assert.deepEqual(keepPodsOf({ keep: ['Static', 'DaemonSet'], lose: ['Unmanaged'] }), [
      'DaemonSet',
      'Static',
      'EmptyDir',
    ]);
    assert.deepEqual(keepPodsOf({ keep: [], lose: ['EmptyDir', 'Unmanaged'] }), []);
  });
});
