import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createControllerDrainer } from '../../../../src/agent/drain/controller-drain.ts';
import type { DrainerFacts } from '../../../../src/agent/drain/drainer.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { RetentionFacts } from '../../../../src/decide/static-pod/parked.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const SIGNAL = new AbortController().signal;
const { name: NAME } = ownMaintenanceOf('n1').metadata;
const STATIC = [{ podType: 'Static', podPriority: 2_147_483_647 }] as const;
const PHASE: Phase = {
  kind: 'draining',
  mode: 'cluster',
  maintenance: NAME,
  origin: 'logind',
  reason: 'r',
  since: 1,
  bootId: 'b',
};

function factsOf(phase: Phase, refusal?: string): DrainerFacts {
  const retention: RetentionFacts = {
    phase,
    onBoot: 'complete',
    clusterConfigured: true,
    own: [NAME],
    drains: [{ maintenance: NAME, reason: '', drainTargets: STATIC }],
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

/** A pod of the node; static ones are told from others by their mirror pods. */
function pod(name: string, kind: 'Static' | 'Default' = 'Static', isEnding = false): Pod {
  const annotations = kind === 'Static' ? { 'kubernetes.io/config.mirror': 'hash' } : {};
  const deletionTimestamp = isEnding ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
  return { metadata: { name, namespace: 'kube-system', uid: name, annotations, ...deletionTimestamp }, spec: {} };
}

/** What the API server tells of the node: whether the maintenance is drained, how many pods its status counts, and the pods. */
interface Told {
  readonly isDrained?: boolean;
  readonly counted?: number;
  readonly pods?: readonly Pod[];
  readonly isCordoned?: boolean;
}

function open({ isDrained = false, counted = 1, pods, isCordoned = true }: Told) {
  const leave = new Map([['default/web-n1', { maintenance: NAME, reason: '' }]]);
  const asked: boolean[] = [];
  const drainer = createControllerDrainer(
    { isDrained: () => isDrained, podsLeft: () => counted },
    {
      observe: (_view, _drains, wantsPods) => {
        asked.push(wantsPods);
        const intent = { leave, targeted: new Set(['default/web-n1']), mirrors: undefined };
        return Promise.resolve({ ...intent, pods: wantsPods ? pods : undefined });
      },
    },
    { end: () => Promise.resolve() },
    {
      observe: () =>
        Promise.resolve({
          kind: 'present',
          node: { metadata: { name: 'n1' }, spec: { unschedulable: isCordoned }, status: {} },
        }),
    },
  );
  return { asked, pass: (facts: DrainerFacts) => drainer.pass(facts, SIGNAL) };
}

describe('the drain by the controller', () => {
  it('the drain by the controller lets the static pods leave whose requests ask for it', async () => {
    const pass = await open({}).pass(factsOf(PHASE));
    assert.deepEqual([...pass.leave.keys()], ['default/web-n1']);
    assert.equal(pass.drained, false);
  });

  it('the drain by the controller is over when the maintenance of the shutdown says so', async () => {
    assert.equal((await open({ isDrained: true }).pass(factsOf(PHASE))).drained, true);
    assert.equal((await open({ isDrained: true }).pass(factsOf({ kind: 'watching' }))).drained, false);
  });

  const statics = [pod('dns-n1'), pod('proxy-n1')];
  const refused = factsOf(PHASE, 'others may write the directory');
  const parked = [{ namespace: 'kube-system', podName: 'dns-n1', thisBoot: true }] as never;
  const view = { ...factsOf(PHASE).view, parked };
  const running = { ...factsOf(PHASE), view: { ...view, live: new Map([['kube-system/dns-n1', ['s']]]) } };
  const ended = { ...factsOf(PHASE), view: { ...view, live: new Map() } };
  const fromUrl = /staticPodURL of the kubelet: kube-system\/dns-n1, kube-system\/proxy-n1$/;
  const ofDirectory = /because others may write the directory: kube-system\/dns-n1, kube-system\/proxy-n1$/;
  const ends: readonly [string, DrainerFacts, Told, RegExp | undefined][] = [
    ['only static pods without a manifest are left', factsOf(PHASE), { counted: 2, pods: statics }, fromUrl],
    ['only static pods of a refused directory are left', refused, { counted: 2, pods: statics }, ofDirectory],
    ['the status counts a pod that is gone', factsOf(PHASE), { counted: 3, pods: statics }, undefined],
    ['the API server does not answer', refused, { counted: 2 }, undefined],
    ['a Default pod ends', refused, { counted: 3, pods: [...statics, pod('web', 'Default', true)] }, undefined],
    ['a Default pod alone ends', refused, { counted: 1, pods: [pod('web', 'Default', true)] }, undefined],
    [
      'a static pod of a refused directory ends',
      refused,
      { counted: 1, pods: [pod('dns-n1', 'Static', true)] },
      undefined,
    ],
    ['a static pod whose manifest is parked ends', running, { counted: 2, pods: statics }, undefined],
    ['the mirror pod of one that has ended is left', ended, { counted: 2, pods: statics }, undefined],
    ['no machine goes down', factsOf({ kind: 'watching' }), { counted: 2, pods: statics }, undefined],
  ];
  for (const [when, facts, told, left] of ends) {
    it(`the drain by the controller ${left === undefined ? 'goes on' : 'is over, and names what is left,'} when ${when}`, async () => {
      const pass = await open(told).pass(facts);
      assert.equal(pass.drained, left !== undefined);
      if (left === undefined) assert.equal(pass.left, undefined);
      else assert.match(pass.left ?? '', left);
    });
  }

  it('pods that come again and again are ended alone, sooner on a node that is cordoned', async () => {
    const drainStartTime = '2026-01-01T00:00:00Z';
    const nodeStatuses = [{ nodeRef: { name: 'n1' }, drainStartTime, drainTargets: STATIC }];
    const maintenances = [{ ...ownMaintenanceOf('n1'), status: { nodeStatuses } }];
    const made = (afterMinutes: number): readonly Pod[] => {
      const { metadata, spec } = pod('web', 'Default');
      const creationTimestamp = rfc3339(Date.parse(drainStartTime) + afterMinutes * 60_000);
      return [{ metadata: { ...metadata, creationTimestamp }, spec }];
    };
    const ends: readonly [boolean, number, boolean][] = [
      [true, 2, true],
      [false, 2, false],
      [false, 20, true],
    ];
    for (const [isCordoned, minutes, isOver] of ends) {
      const pass = await open({ isCordoned, pods: made(minutes) }).pass({ ...factsOf(PHASE), maintenances });
      assert.deepEqual([pass.drained, pass.endsAlone !== undefined], [isOver, isOver]);
    }
  });

  it('the agent asks for its pods only when static pods are reached', async () => {
    const facts = factsOf(PHASE);
    const drains = [{ maintenance: NAME, reason: '', drainTargets: [{ podType: 'Default', podPriority: 1 }] as const }];
    const before = open({ counted: 5 });
    await before.pass({ ...facts, retention: { ...facts.retention, drains } });
    const then = open({ counted: 5 });
    await then.pass(facts);
    assert.deepEqual([before.asked, then.asked], [[false], [true]]);
  });
});
