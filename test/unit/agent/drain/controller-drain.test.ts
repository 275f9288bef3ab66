import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createControllerDrainer } from '../../../../src/agent/drain/controller-drain.ts';
import type { DrainerFacts } from '../../../../src/agent/drain/drainer.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { RetentionFacts } from '../../../../src/decide/static-pod/parked.ts';
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

function factsOf(phase: Phase): DrainerFacts {
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
    view: { inPlace: [], ended: [], parked: [], live: undefined },
    retention,
    keepParked: () => true,
    saveTargets: () => Promise.resolve(),
    maintenances: [],
  };
}

interface Told {
  readonly isDrained?: boolean;
  readonly isCordoned?: boolean;
  readonly unasked?: readonly string[];
}

function open({ isDrained = false, isCordoned = true, unasked = [] }: Told) {
  const leave = new Map([['default/web-n1', { maintenance: NAME, reason: '' }]]);
  const drainer = createControllerDrainer(
    { isDrained: () => isDrained, awaitsVolumes: () => false },
    { observe: () => Promise.resolve({ leave, targeted: new Set(['default/web-n1']), mirrors: undefined, unasked }) },
    { end: () => Promise.resolve() },
    {
      observe: () =>
        Promise.resolve({
          kind: 'present',
          node: { metadata: { name: 'n1' }, spec: { unschedulable: isCordoned }, status: {} },
        }),
    },
  );
  return { pass: (facts: DrainerFacts) => drainer.pass(facts, SIGNAL) };
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
    const untold = await open({ isDrained: true, unasked: ['d/p'] }).pass(factsOf(PHASE));
    assert.deepEqual([untold.drained, untold.stalled], [false, 'the API server does not tell of the static pods d/p']);
    const facts = factsOf(PHASE);
    const parked = [{ namespace: 'd', podName: 'p', thisBoot: true }] as never;
    const ending = { ...facts, view: { ...facts.view, parked, live: new Map([['d/p', ['s']]]) } };
    assert.equal((await open({ isDrained: true }).pass(ending)).drained, false, 'its containers run on');
  });

  it('the machine goes down since its drain began, or later on a node that cannot be cordoned', async () => {
    const drainStartTime = '2026-01-01T00:00:00Z';
    const nodeStatuses = [{ nodeRef: { name: 'n1' }, drainStartTime, drainTargets: STATIC }];
    const maintenances = [{ ...ownMaintenanceOf('n1'), status: { nodeStatuses } }];
    for (const isCordoned of [true, false]) {
      const { downSince } = await open({ isCordoned }).pass({ ...factsOf(PHASE), maintenances });
      assert.equal(downSince, Date.parse(drainStartTime) + (isCordoned ? 0 : 900_000));
    }
  });
});
