import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createControllerDrainer } from '../../../../src/agent/drain/controller-drain.ts';
import type { DrainFacts } from '../../../../src/agent/drain/drainer.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { RetentionFacts } from '../../../../src/decide/static-pod/retention.ts';

const SIGNAL = new AbortController().signal;
const STATIC = [{ podType: 'Static', podPriority: 2_147_483_647 }] as const;
const PHASE: Phase = {
  kind: 'draining',
  mode: 'cluster',
  maintenance: 'm',
  origin: 'logind',
  reason: 'r',
  since: 1,
  bootId: 'b',
};

function factsOf(phase: Phase, refusal?: string): DrainFacts {
  const retention: RetentionFacts = {
    phase,
    onBoot: 'complete',
    clusterConfigured: true,
    own: ['m'],
    drains: [{ maintenance: 'm', reason: '', drainTargets: STATIC }],
    apiSilent: false,
  };
  return {
    record: { phase, offlineTargets: [] },
    view: { inPlace: [], ended: [], parked: [], live: undefined, ...(refusal === undefined ? {} : { refusal }) },
    retention,
    keepParked: () => true,
    saveTargets: () => Promise.resolve(),
    maintenances: [],
  };
}

function open(isDrained: boolean, podsLeft = 1, mirrors?: ReadonlySet<string>) {
  const leave = new Map([['default/web-n1', { maintenance: 'm', reason: '' }]]);
  const intent = { leave, targeted: new Set(['default/web-n1']), mirrors };
  return createControllerDrainer(
    { isDrained: () => isDrained, podsLeft: () => podsLeft },
    { observe: () => Promise.resolve(intent) },
  );
}

describe('the drain by the controller', () => {
  it('the drain by the controller lets the static pods leave whose requests ask for it', async () => {
    const pass = await open(false).pass(factsOf(PHASE), SIGNAL);
    assert.deepEqual([...pass.leave.keys()], ['default/web-n1']);
    assert.equal(pass.drained, false);
  });

  it('the drain by the controller is over when the maintenance of the shutdown says so', async () => {
    assert.equal((await open(true).pass(factsOf(PHASE), SIGNAL)).drained, true);
    assert.equal((await open(true).pass(factsOf({ kind: 'watching' }), SIGNAL)).drained, false);
  });

  it('the drain by the controller is over, and names what is left, when only static pods without a manifest are left', async () => {
    const mirrors = new Set(['kube-system/dns-n1', 'kube-system/proxy-n1']);
    const pass = await open(false, 2, mirrors).pass(factsOf(PHASE), SIGNAL);
    assert.equal(pass.drained, true);
    assert.match(pass.left ?? '', /staticPodURL of the kubelet: kube-system\/dns-n1, kube-system\/proxy-n1$/);
    const other = await open(false, 3, mirrors).pass(factsOf(PHASE), SIGNAL);
    assert.deepEqual([other.drained, other.left], [false, undefined], 'another pod is left too');
    const facts = factsOf(PHASE);
    const parked = [{ namespace: 'kube-system', podName: 'dns-n1', thisBoot: true }] as never;
    const ending = { ...facts, view: { ...facts.view, parked, live: new Map([['kube-system/dns-n1', ['s']]]) } };
    assert.equal((await open(false, 2, mirrors).pass(ending, SIGNAL)).drained, false, 'one of them is ending');
    assert.equal((await open(false, 2, mirrors).pass(factsOf({ kind: 'watching' }), SIGNAL)).drained, false);
  });

  it('the drain by the controller is over when only static pods are left whose manifests must not be moved', async () => {
    const pass = await open(false).pass(factsOf(PHASE, 'others may write the directory'), SIGNAL);
    assert.equal(pass.drained, true);
  });
});
