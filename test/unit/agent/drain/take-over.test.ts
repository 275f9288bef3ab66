import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProgressObserver } from '../../../../src/agent/drain/take-over.ts';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import type { NodeMaintenance, NodeStatus } from '../../../../src/api/node-maintenance.ts';
import { DEFAULT_EVICTION_SETTINGS } from '../../../../src/decide/eviction/settings.ts';
import type { LeaseLife } from '../../../../src/decide/shutdown/drainer.ts';
import type { PhaseEvent } from '../../../../src/decide/shutdown/events.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { RetentionFacts } from '../../../../src/decide/static-pod/parked.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import type { ObjectCache } from '../../../../src/kube/watch.ts';
import { ownMaintenanceOf } from '../../../support/maintenance/objects.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

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
const SHUTDOWN = { mode: 'cluster', maintenance: 'm', origin: 'logind', reason: 'r', since: 1, bootId: 'b' } as const;
const DRAINING: Phase = { kind: 'draining', ...SHUTDOWN };

/** The maintenance of the shutdown, with what its status says of the node, and the reason of its condition. */
function maintenanceWith(nodeStatus?: Partial<NodeStatus>, reason?: string, name = 'm'): NodeMaintenance {
  const nodeSelectorTerms = [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }] as const;
  const spec = { stage: 'Drain', nodeSelector: { nodeSelectorTerms } } as const;
  if (nodeStatus === undefined) return { metadata: { name }, spec };
  const drained = { type: 'Drained', status: 'False', message: '', lastTransitionTime: '' } as const;
  const conditions = reason === undefined ? [] : [{ ...drained, reason }];
  return {
    metadata: { name },
    spec,
    status: { nodeStatuses: [{ nodeRef: { name: 'n1' }, ...nodeStatus }], conditions },
  };
}
const MAINTENANCE = maintenanceWith();

/** What the test sets. */
interface World {
  maintenances: NodeMaintenance[];
  owed: boolean;
  life: LeaseLife;
  source: 'note' | 'all';
  /** Whether the API server lets all maintenances be watched. */
  tellsAll: boolean;
  synced: boolean;
  requests: EvictionRequest[];
  /** The pods of the node; undefined where they are not watched. */
  pods: readonly Pod[] | undefined;
  /** What the API server answers to the question for the Lease: "" for no answer. */
  leaseFails: string | undefined;
}

function copyOf(pods: readonly Pod[] | undefined): ObjectCache<Pod> | undefined {
  return pods && ({ current: () => true, list: () => pods } as unknown as ObjectCache<Pod>);
}

function open(given: Partial<World> = {}) {
  const world: World = {
    maintenances: [MAINTENANCE],
    owed: false,
    life: 'alive',
    source: 'all',
    tellsAll: true,
    synced: true,
    requests: [],
    pods: undefined,
    leaseFails: undefined,
    ...given,
  };
  const reads: number[] = [];
  const held: boolean[] = [];
  const events: PhaseEvent[] = [];
  const clock = createSteppingClock();
  let last: { readonly kind: LeaseLife; readonly silentMs: number } | undefined;
  const observer = new ProgressObserver({
    nodeName: 'n1',
    clock,
    maxIdleMs: 300_000,
    announce: (event) => events.push(event),
    requests: { list: () => world.requests },
    pods: { current: () => copyOf(world.pods) },
    own: { state: () => 'open' },
    maintenances: {
      synced: () => world.synced,
      list: () => world.maintenances,
      watchesAll: () => world.source !== 'note',
      wantAll: () => {
        if (world.tellsAll) world.source = 'all';
      },
      holdAll: (isHeld) => {
        held.push(isHeld);
        if (isHeld && world.tellsAll) world.source = 'all';
      },
    },
    lease: {
      observe: (maxAgeMs) => {
        reads.push(maxAgeMs);
        last = { kind: world.leaseFails === undefined ? world.life : 'unknown', silentMs: 0 };
        return Promise.resolve(last);
      },
      last: () => last,
      untold: () => world.leaseFails,
      settings: () => ON_LEASE,
      forget: () => {
        last = undefined;
      },
    },
    giveBack: {
      find: () => Promise.resolve(),
      markForRevert: () => {
        world.owed = true;
      },
      needsRevert: () => world.owed,
      leaveToController: () => {
        world.owed = false;
      },
    },
  });
  const look = async (phase: Phase = DRAINING, reason?: string) => {
    const sight = await observer.observe(RETENTION, phase, SIGNAL);
    observer.note(phase, reason);
    return sight.controller;
  };
  /** A pass each minute; what the last one found. */
  const afterMinutes = async (minutes: number, phase: Phase = DRAINING, reason?: string) => {
    let found = await look(phase, reason);
    for (let passed = 0; passed < minutes; passed += 1) {
      clock.pass(60_000);
      found = await look(phase, reason);
    }
    return found;
  };
  return { world, observer, reads, held, events, clock, look, afterMinutes };
}

describe('the observer of the drain, without a shutdown', () => {
  it('asks for all maintenances before it says that no controller is alive', async () => {
    const { look } = open({ life: 'dead', source: 'note' });
    assert.equal(await look(WATCHING), 'unknown');
    assert.equal(await look(WATCHING), 'dead');
  });

  it('reads no Lease on a node that nothing drains and that owes nothing', async () => {
    const { observer, reads } = open({ maintenances: [] });
    assert.deepEqual(await observer.observe(RETENTION, WATCHING, SIGNAL), { controller: 'unknown', maintenances: [] });
    assert.deepEqual(reads, []);
    assert.equal(observer.isBusy(), false);
  });

  it('notes during a maintenance that its cordon has to be given back', async () => {
    const { observer, world } = open();
    const observed = await observer.observe(RETENTION, WATCHING, SIGNAL);
    assert.deepEqual(observed, { controller: 'alive', maintenances: [MAINTENANCE] });
    assert.equal(world.owed, true);
  });

  const lives: [LeaseLife, boolean][] = [
    ['alive', false],
    ['unknown', true],
    ['dead', true],
  ];
  for (const [life, isBusy] of lives) {
    it(`${isBusy ? 'is' : 'is not'} busy during a maintenance whose controller is ${life}`, async () => {
      const { observer, look } = open({ life });
      await look(WATCHING);
      assert.equal(observer.isBusy(), isBusy);
    });
  }

  it('leaves what is owed after a maintenance to a controller that is alive, and to no other', async () => {
    for (const [life, needsRevert] of lives) {
      const { world, look } = open({ maintenances: [], owed: true, life });
      await look(WATCHING);
      assert.equal(world.owed, needsRevert, life);
    }
  });

  it('passes over a maintenance that is not in effect, such as that of an earlier shutdown', async () => {
    const { observer } = open({ life: 'dead' });
    const observed = await observer.observe({ ...RETENTION, own: ['m'] }, WATCHING, SIGNAL);
    assert.deepEqual(observed.maintenances, []);
  });

  it('finds no controller idle in the drain of a person', async () => {
    assert.equal(await open().afterMinutes(60, WATCHING), 'alive');
  });
});

describe('the observer of the drain, with a controller that does nothing', () => {
  it('says so after the whole time, once, and has all maintenances watched from then on', async () => {
    const { observer, held, events, afterMinutes, look, world } = open({ source: 'note' });
    assert.equal(await afterMinutes(4), 'alive');
    assert.equal(await afterMinutes(1), 'idle');
    assert.deepEqual(observer.state(), { kind: 'idle', silentMs: 300_000 });
    assert.equal(observer.isBusy(), true, 'the agent has to act now');
    assert.equal(await afterMinutes(10), 'idle');
    assert.deepEqual([held.at(-1), world.source], [true, 'all']);
    assert.deepEqual(
      events.map(({ reason, type }) => [reason, type]),
      [['ControllerIdle', 'Warning']],
    );
    assert.match(events[0]?.message ?? '', /for 300 s it has done nothing for the shutdown of node n1 \(m\)/);
    assert.equal(await look(WATCHING), 'alive');
  });

  it('waits no longer where the API server lets it watch no maintenances of others', async () => {
    for (const [reason, silentMinutes] of [
      ['Draining', 5],
      ['WaitingForTurn', 30],
    ] as const) {
      const maintenances = [maintenanceWith({}, reason)];
      const { observer, afterMinutes } = open({ maintenances, source: 'note', tellsAll: false });
      assert.equal(await afterMinutes(silentMinutes + 5), 'unknown');
      assert.equal(observer.stall()?.forMs, 300_000);
    }
  });

  it('goes by a Lease that is read right before a step, and by the options on it, unless its controller is idle', async () => {
    const { observer, reads, world, afterMinutes } = open({ life: 'dead' });
    assert.deepEqual([await observer.isAway(SIGNAL), reads], [true, [0]]);
    assert.deepEqual([observer.whyAway(), observer.settings()], ['no controller is alive', ON_LEASE]);
    world.life = 'unknown';
    assert.equal(await observer.isAway(SIGNAL), false);
    world.life = 'alive';
    assert.equal(await afterMinutes(5), 'idle');
    const before = reads.length;
    assert.deepEqual([await observer.isAway(SIGNAL), reads.length], [true, before]);
    assert.match(observer.whyAway(), /does nothing/);
    assert.deepEqual(observer.settings(), DEFAULT_EVICTION_SETTINGS);
  });

  it('does not say so while statuses change, or right after a controller came late', async () => {
    const { world, afterMinutes } = open();
    assert.equal(await afterMinutes(2), 'alive');
    for (const podsPendingEvacuation of [9, 8, 7]) {
      world.maintenances = [maintenanceWith({ drainPlanPosition: 1, podsPendingEvacuation })];
      assert.equal(await afterMinutes(4), 'alive');
    }
  });

  it('says so although an interceptor goes on with a pod that is gone, and not while the pod is there', async () => {
    const found: string[] = [];
    for (const uid of ['gone', 'here']) {
      const rig = open({ pods: [{ metadata: { name: 'here', uid: 'here' }, spec: {} }] });
      for (let passed = 0; passed <= 60; passed += 1) {
        const interceptors = [{ name: 'actor.example', message: `At work ${passed}.` }];
        const spec = { target: { pod: { name: uid, uid } } };
        rig.world.requests = [{ metadata: { name: uid, uid }, spec, status: { interceptors } }];
        const seen = await rig.afterMinutes(1);
        if (passed === 60) found.push(seen);
      }
    }
    assert.deepEqual(found, ['idle', 'alive']);
  });

  it('stays with it until the shutdown is over, whatever the controller writes then', async () => {
    const { world, afterMinutes, look } = open();
    assert.equal(await afterMinutes(5), 'idle');
    world.maintenances = [maintenanceWith({ drainPlanPosition: 1, podsEvacuating: 1 })];
    assert.equal(await look(), 'idle');
    world.leaseFails = '';
    assert.equal(await look(), 'idle');
    world.leaseFails = undefined;
    assert.equal(await look({ kind: 'released', releasedAt: 2, ...SHUTDOWN }), 'alive');
    assert.equal(await look(), 'alive');
  });

  it('counts no time in which the API server does not answer, or no controller lives', async () => {
    for (const pause of [{ leaseFails: '' }, { life: 'dead' }] as const) {
      const { world, afterMinutes, look } = open();
      assert.equal(await afterMinutes(4), 'alive');
      Object.assign(world, pause);
      await look();
      Object.assign(world, { leaseFails: undefined, life: 'alive' });
      assert.equal(await afterMinutes(4), 'alive');
      assert.equal(await afterMinutes(1), 'idle');
    }
  });

  it('takes a Lease that changes and has no holder for no controller either', async () => {
    assert.equal(await open({ life: 'unknown' }).afterMinutes(5), 'idle');
  });

  it('lets a machine wait for its turn as long as its agent, too, finds that others go first', async () => {
    const waits = maintenanceWith({}, 'WaitingForTurn');
    const { world, clock, afterMinutes } = open({ maintenances: [waits], source: 'note' });
    assert.equal(await afterMinutes(20), 'alive');
    const drainStartTime = rfc3339(clock.now());
    const nodeStatuses = [{ nodeRef: { name: 'n2' }, drainStartTime }];
    world.maintenances = [waits, { ...ownMaintenanceOf('n2'), status: { nodeStatuses } }];
    assert.equal(await afterMinutes(9), 'alive');
    assert.equal(world.source, 'note', 'nothing is watched for it before that');
    assert.equal(await afterMinutes(20), 'alive');
    assert.equal(world.source, 'all');
    assert.equal(await afterMinutes(2), 'idle', 'the other one has not come back in its term');
  });

  it('lets a machine wait for the control plane without a bound', async () => {
    assert.equal(
      await open({ maintenances: [maintenanceWith({}, 'WaitingForControlPlane')] }).afterMinutes(600),
      'alive',
    );
  });
});

describe('the observer of the drain, with an API server with which it gets no further', () => {
  it('counts its silence from the first question of the shutdown, whatever the copies show', async () => {
    for (const copies of [{ maintenances: [] }, { synced: false }, {}]) {
      const { observer, clock, look } = open({ ...copies, leaseFails: '' });
      assert.equal(observer.stall(), undefined);
      assert.equal(await look(), 'unknown');
      clock.pass(7_000);
      assert.deepEqual(observer.stall(), { forMs: 7_000, refusal: undefined, isBegun: false });
    }
  });

  it('counts a NodeMaintenance or others that it never sees, a Lease that is refused, and what keeps the pass from going on', async () => {
    const rows: [Partial<World>, string | undefined, RegExp][] = [
      [{ maintenances: [] }, undefined, /does not tell of the NodeMaintenance m/],
      [{ synced: false, maintenances: [] }, undefined, /does not tell of the NodeMaintenance m/],
      [{ leaseFails: 'it may not be read' }, undefined, /it may not be read/],
      [{}, 'a webhook cannot be called', /a webhook cannot be called/],
      [{ life: 'dead', source: 'note', tellsAll: false }, undefined, /does not tell of all NodeMaintenances/],
    ];
    for (const [given, reason, expected] of rows) {
      const { observer, afterMinutes } = open(given);
      await afterMinutes(5, DRAINING, reason);
      assert.equal(observer.stall()?.forMs, 300_000);
      assert.match(observer.stall()?.refusal ?? '', expected);
    }
  });

  it('counts nothing where passes get through, and begins anew with a pass that does', async () => {
    const { observer, clock, look } = open();
    await look();
    assert.equal(observer.stall(), undefined);
    await look(DRAINING, 'refused');
    clock.pass(60_000);
    await look();
    assert.equal(observer.stall(), undefined);
    await look(DRAINING, 'refused');
    assert.equal(observer.stall()?.forMs, 0);
  });

  it('begins anew once, when the agent itself begins the drain', async () => {
    const { observer, look, clock } = open();
    for (const isBegun of [false, true, false]) {
      await look(DRAINING, 'refused');
      observer.note(DRAINING, 'refused', isBegun);
      clock.pass(60_000);
    }
    assert.deepEqual(observer.stall(), { forMs: 120_000, refusal: 'refused', isBegun: true });
  });

  it('begins anew where somebody gets further all the same', async () => {
    const { observer, world, afterMinutes, look } = open();
    await afterMinutes(4, DRAINING, 'refused');
    world.maintenances = [maintenanceWith({ podsPendingEvacuation: 3 })];
    await look(DRAINING, 'refused');
    assert.equal(observer.stall()?.forMs, 0);
  });

  it('forgets it when the API server is given up, and when the shutdown is over', async () => {
    for (const end of ['suspend', 'watching'] as const) {
      const { observer, afterMinutes, look } = open({ life: 'dead' });
      await afterMinutes(1, DRAINING, 'refused');
      if (end === 'suspend') observer.suspend();
      else await look(WATCHING);
      assert.equal(observer.stall(), undefined);
      if (end === 'suspend') assert.deepEqual([observer.isBusy(), observer.state()], [false, undefined]);
    }
  });

  it('gives nothing back in a shutdown whose NodeMaintenance it does not see', async () => {
    const { observer } = open({ maintenances: [], owed: true, life: 'dead' });
    const sight = await observer.observe(RETENTION, DRAINING, SIGNAL);
    assert.deepEqual(sight, { controller: 'unknown', maintenances: [] });
  });
});
