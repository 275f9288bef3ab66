import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createControllerWatch } from '../../../../src/agent/drain/controller-watch.ts';
import type { LeaseState } from '../../../../src/agent/drain/controller-liveness.ts';
import { createIdleController } from '../../../../src/agent/drain/idle-controller.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { DEFAULT_EVICTION_SETTINGS } from '../../../../src/decide/eviction/settings.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { RetentionFacts } from '../../../../src/decide/static-pod/parked.ts';

const SIGNAL = new AbortController().signal;
const RETENTION: RetentionFacts = {
  phase: { kind: 'watching' },
  onBoot: 'complete',
  clusterConfigured: true,
  own: [],
  drains: [],
  apiSilent: false,
};
/** The options that the controller has written onto its Lease. */
const ON_LEASE = { takeOverMs: 1_000, promiseMs: 2_000, promiseWords: ['Migration started'] };
const WATCHING: Phase = { kind: 'watching' };
const DRAINING: Phase = {
  kind: 'draining',
  mode: 'cluster',
  maintenance: 'm',
  origin: 'logind',
  reason: 'r',
  since: 1,
  bootId: 'b',
};
const MAINTENANCE: NodeMaintenance = {
  metadata: { name: 'm' },
  spec: {
    stage: 'Drain',
    nodeSelector: {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
    },
  },
};

/** A watch over a cluster and a Lease that the test sets. */
function open(world: {
  maintenances: NodeMaintenance[];
  owed: boolean;
  life: LeaseState['kind'];
  source?: 'note' | 'all';
}) {
  const reads: number[] = [];
  const held: boolean[] = [];
  const clock = createSteppingClock();
  const idle = createIdleController({
    nodeName: 'n1',
    clock,
    requests: { list: () => [] },
    maxIdleMs: 300_000,
    announce: () => undefined,
  });
  let last: LeaseState | undefined;
  const watch = createControllerWatch(
    {
      synced: () => true,
      list: () => world.maintenances,
      watchesAll: () => world.source !== 'note',
      wantAll: () => {
        world.source = 'all';
      },
      holdAll: (isHeld) => {
        held.push(isHeld);
        if (isHeld) world.source = 'all';
      },
    },
    {
      idle,
      liveness: {
        observe: (maxAgeMs) => {
          reads.push(maxAgeMs);
          last = { kind: world.life, silentMs: 0 };
          return Promise.resolve(last);
        },
        last: () => last,
        apiSilentMs: () => 0,
        settings: () => ON_LEASE,
        forget: () => {
          last = undefined;
        },
      },
    },
    {
      find: () => Promise.resolve(),
      markForRevert: () => {
        world.owed = true;
      },
      needsRevert: () => world.owed,
      leaveToController: () => {
        world.owed = false;
      },
    },
    'n1',
  );
  return { watch, reads, held, clock };
}

describe('the watch on the controller', () => {
  it('the watch asks for all maintenances before it says that no controller is alive', async () => {
    const { watch } = open({ maintenances: [MAINTENANCE], owed: false, life: 'dead', source: 'note' });
    assert.equal((await watch.observe(RETENTION, WATCHING, SIGNAL)).controller, 'unknown');
    assert.equal((await watch.observe(RETENTION, WATCHING, SIGNAL)).controller, 'dead');
  });

  it('the watch reads no Lease on a node that nothing drains and that owes nothing', async () => {
    const { watch, reads } = open({ maintenances: [], owed: false, life: 'alive' });
    assert.deepEqual(await watch.observe(RETENTION, WATCHING, SIGNAL), { controller: 'unknown', maintenances: [] });
    assert.deepEqual(reads, []);
    assert.equal(watch.isBusy(), false);
  });

  it('the watch notes during a maintenance that its cordon has to be given back', async () => {
    const world = { maintenances: [MAINTENANCE], owed: false, life: 'alive' as const };
    const { watch } = open(world);
    const observed = await watch.observe(RETENTION, WATCHING, SIGNAL);
    assert.deepEqual(observed, { controller: 'alive', maintenances: [MAINTENANCE] });
    assert.equal(world.owed, true);
  });

  it('the watch says that a controller is idle which does nothing for the shutdown, and has all maintenances watched meanwhile', async () => {
    const world = { maintenances: [MAINTENANCE], owed: false, life: 'alive' as const, source: 'note' as const };
    const { watch, held, clock } = open(world);
    const seen = async (phase: Phase) => (await watch.observe(RETENTION, phase, SIGNAL)).controller;
    assert.equal(await seen(DRAINING), 'alive');
    clock.pass(300_000);
    assert.equal(await seen(DRAINING), 'idle');
    assert.deepEqual(watch.state(), { kind: 'idle', silentMs: 300_000 });
    assert.equal(watch.isBusy(), true, 'the agent has to act now');
    assert.equal(await seen(WATCHING), 'alive');
    assert.deepEqual(held, [false, true, false]);
  });

  it('the watch forgets an idle controller when the shutdown is over, also where no maintenance is left', async () => {
    const world = { maintenances: [MAINTENANCE], owed: false, life: 'alive' as const };
    const { watch, clock } = open(world);
    await watch.observe(RETENTION, DRAINING, SIGNAL);
    clock.pass(300_000);
    assert.equal((await watch.observe(RETENTION, DRAINING, SIGNAL)).controller, 'idle');
    Object.assign(world, { maintenances: [], owed: false });
    await watch.observe(RETENTION, WATCHING, SIGNAL);
    assert.equal(watch.state(), undefined);
  });

  it('the watch reads the Lease right before a step of the agent, and goes by the options on it, unless its controller is idle', async () => {
    const world: { maintenances: NodeMaintenance[]; owed: boolean; life: LeaseState['kind'] } = {
      maintenances: [MAINTENANCE],
      owed: false,
      life: 'dead',
    };
    const { watch, reads, clock } = open(world);
    assert.deepEqual([await watch.isAway(SIGNAL), reads], [true, [0]]);
    assert.deepEqual([watch.whyAway(), watch.settings()], ['no controller is alive', ON_LEASE]);
    world.life = 'unknown';
    assert.equal(await watch.isAway(SIGNAL), false);
    world.life = 'alive';
    await watch.observe(RETENTION, DRAINING, SIGNAL);
    clock.pass(300_000);
    await watch.observe(RETENTION, DRAINING, SIGNAL);
    const before = reads.length;
    assert.deepEqual(
      [await watch.isAway(SIGNAL), reads.length],
      [true, before],
      'its Lease says nothing of what it does',
    );
    assert.match(watch.whyAway(), /does nothing/);
    assert.deepEqual(watch.settings(), DEFAULT_EVICTION_SETTINGS);
  });

  const lives: [LeaseState['kind'], boolean][] = [
    ['alive', false],
    ['unknown', true],
    ['dead', true],
  ];
  for (const [life, isBusy] of lives) {
    it(`the watch ${isBusy ? 'is' : 'is not'} busy during a maintenance whose controller is ${life}`, async () => {
      const { watch } = open({ maintenances: [MAINTENANCE], owed: false, life });
      await watch.observe(RETENTION, WATCHING, SIGNAL);
      assert.equal(watch.isBusy(), isBusy);
    });
  }

  it('the watch leaves what is owed after a maintenance to a controller that is alive, and to no other', async () => {
    for (const [life, needsRevert] of lives) {
      const world = { maintenances: [] as NodeMaintenance[], owed: true, life };
      await open(world).watch.observe(RETENTION, WATCHING, SIGNAL);
      assert.equal(world.owed, needsRevert, life);
    }
  });

  it('the watch is not busy after it was suspended', async () => {
    const { watch } = open({ maintenances: [MAINTENANCE], owed: false, life: 'dead' });
    await watch.observe(RETENTION, WATCHING, SIGNAL);
    watch.suspend();
    assert.equal(watch.isBusy(), false);
    assert.equal(watch.state(), undefined);
  });

  it('the watch passes over a maintenance that is not in effect, such as that of an earlier shutdown', async () => {
    const { watch } = open({ maintenances: [MAINTENANCE], owed: false, life: 'dead' });
    const observed = await watch.observe({ ...RETENTION, own: ['m'] }, WATCHING, SIGNAL);
    assert.deepEqual(observed.maintenances, []);
  });
});
