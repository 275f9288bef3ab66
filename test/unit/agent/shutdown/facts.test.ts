import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endsPhase, type PhaseFactParts, readPhaseFacts } from '../../../../src/agent/shutdown/facts.ts';
import type { StaticPodPass } from '../../../../src/agent/drain/pod-pass.ts';
import { type OwnState, shutdownNames } from '../../../../src/decide/maintenance/agent-names.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { DRAINING, SHUTDOWN, YES } from '../../../support/agent/phase-facts.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const RECOVERING: Phase = { kind: 'recovering', cause: 'boot', ...SHUTDOWN };
const CANCELED: Phase = { ...RECOVERING, cause: 'canceled' };

/** A pass in the phase, with manifests parked under the names. */
function passOf(phase: Phase, parked: readonly string[], more: Partial<StaticPodPass> = {}): StaticPodPass {
  const view = {
    inPlace: [],
    ended: [],
    live: undefined,
    parked: parked.map((maintenance) => ({ maintenance, file: 'a.yaml' })),
  };
  const decision = { actions: [], progress: [] };
  const keptByOthers = new Set<string>();
  return { phase, view, decision, keptByOthers, waiting: [], drained: false, ...more } as unknown as StaticPodPass;
}

interface World {
  readonly detector?: PhaseFactParts['detector'];
  readonly own?: NonNullable<PhaseFactParts['cluster']>['own'];
  readonly stuck?: readonly string[];
  readonly handedOver?: boolean;
  readonly lastPass?: StaticPodPass | undefined;
  readonly hasCluster?: boolean;
}

async function read(phase: Phase, { own, detector, stuck = [], hasCluster = true, ...known }: World) {
  const cluster = {
    own: own ?? { state: () => 'open', isFree: () => true, own: () => [] },
    ownNode: { observe: () => Promise.resolve({ kind: 'absent', forMs: 4 } as const) },
    maintenances: { get: () => undefined },
  };
  const parts: PhaseFactParts = {
    nodeName: 'node-a',
    bootId: 'boot-1',
    config: { apiWaitSec: 15, progressWaitSec: 300 },
    clock: createSteppingClock(),
    detector: detector ?? { read: () => Promise.resolve(YES) },
    notices: { addTo: (machine) => machine },
    staticPods: { stuck: () => new Set(stuck) },
    drain: { observer: undefined },
    cluster: hasCluster ? cluster : undefined,
  };
  const earlier = { askedSinceBootMs: 0, handedOver: true, handingOver: false, lastPass: undefined, ...known };
  return await readPhaseFacts(parts, earlier, phase, SIGNAL);
}

describe('the facts of the phase', () => {
  it('tell of a drain what the last pass of this phase found, and nothing of one before', async () => {
    const drained = await read(DRAINING, { lastPass: passOf(DRAINING, [], { drained: true, left: 'a.yaml' }) });
    assert.deepEqual([drained.drained, drained.left], [true, 'a.yaml']);
    const other = await read(DRAINING, { lastPass: passOf({ ...DRAINING }, [], { drained: true }) });
    assert.deepEqual([other.drained, other.left], [false, undefined]);
    assert.equal((await read(DRAINING, {})).drained, false);
  });

  it('tell of a recovery that all is back only where a pass of this phase saw it', async () => {
    const recovered = async (pass: StaticPodPass | undefined): Promise<boolean> =>
      (await read(RECOVERING, { lastPass: pass })).recovered;
    assert.equal(await recovered(undefined), false);
    assert.equal(await recovered(passOf(DRAINING, [])), false, 'it was read before the shutdown was over');
    assert.equal(await recovered(passOf(RECOVERING, [SHUTDOWN.maintenance])), false);
    const keptByOthers = new Set(['a.yaml']);
    assert.equal(await recovered(passOf(RECOVERING, [SHUTDOWN.maintenance], { keptByOthers })), true);
    assert.equal(await recovered(passOf(RECOVERING, [''])), false, 'nothing says for what it was parked');
    assert.equal(await recovered(passOf(RECOVERING, ['of-another-drain'])), true);
  });

  it('tell of a shutdown that was called off that all is back only once the cluster has nothing of it', async () => {
    const pass = passOf(CANCELED, []);
    const recovered = async (own: Partial<NonNullable<World['own']>>): Promise<boolean> => {
      const none = { state: (): OwnState => 'completed', isFree: () => true, own: () => [] };
      return (await read(CANCELED, { lastPass: pass, own: { ...none, ...own } })).recovered;
    };
    const open = drainOf(SHUTDOWN.maintenance, ['node-a']);
    assert.equal(await recovered({}), true);
    assert.equal(await recovered({ state: () => 'open' }), false, 'it was made, and nobody has seen it yet');
    assert.equal(await recovered({ state: () => 'absent', own: () => [open] }), false, 'after a restart of the agent');
    assert.equal(
      await recovered({ own: () => [drainOf('shutdown-node-a-x', ['node-a'])] }),
      true,
      'of another shutdown',
    );
  });

  it('tell what is known of logind to the reading, but not after a boot or once the lock is released', async () => {
    const held = async (phase: Phase): Promise<unknown> => {
      let told: unknown;
      const detector = { read: (known: unknown) => ((told = known), Promise.resolve(YES)) };
      await read(phase, { detector });
      return told;
    };
    const known = { ...CANCELED, voidLogind: 100 };
    assert.equal(await held(known), known);
    assert.deepEqual(await held({ ...known, bootId: 'boot-0' }), {});
    assert.deepEqual(await held({ ...known, kind: 'released', releasedAt: 1 }), {});
    assert.deepEqual(await held({ kind: 'watching' }), {});
  });

  it('tell for how long the Node object is gone only while the cluster drains the node', async () => {
    const gone = async (phase: Phase): Promise<number> => (await read(phase, {})).nodeGoneMs;
    assert.deepEqual(
      [await gone(DRAINING), await gone({ ...DRAINING, mode: 'offline' }), await gone(RECOVERING)],
      [4, 0, 0],
    );
  });

  it('name a free NodeMaintenance: none that is taken, is used, or has a parked manifest', async () => {
    const all = shutdownNames('node-a');
    const [first, second, third, ...rest] = all;
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    const phase = { ...DRAINING, maintenance: first, renamed: { from: [second], deleted: 0, sinceBootMs: 0 } };
    const free = rest.at(-1);
    const facts = await read(phase, {
      own: { state: () => 'taken', isFree: (name) => name === free || name === first || name === third, own: () => [] },
      lastPass: passOf(phase, [third]),
    });
    assert.equal(facts.freeName, free);
    const none = await read(phase, { own: { state: () => 'taken', isFree: () => false, own: () => [] } });
    assert.equal(none.freeName, undefined);
  });

  it('are those of a node without a cluster where none is configured', async () => {
    const facts = await read(DRAINING, { hasCluster: false });
    assert.deepEqual([facts.clusterConfigured, facts.maintenance], [false, 'absent']);
  });

  it('tell of the hand-over of this turn, and of manifests that are stuck', async () => {
    const none = await read(DRAINING, { stuck: ['a.yaml'], handedOver: false });
    assert.deepEqual([none.manifestsStuck, none.handedOver], [true, false]);
    const done = await read(DRAINING, {});
    assert.deepEqual([done.manifestsStuck, done.handedOver], [false, true]);
  });
});

describe('a pass', () => {
  it('ends a drain that has nothing left, and a recovery whose manifests are back', () => {
    assert.equal(endsPhase(passOf(DRAINING, [], { drained: true })), true);
    assert.equal(endsPhase(passOf(DRAINING, [])), false);
    assert.equal(endsPhase(passOf(RECOVERING, [])), true);
    assert.equal(endsPhase(passOf(RECOVERING, [SHUTDOWN.maintenance])), false);
    assert.equal(endsPhase(passOf(CANCELED, [])), false, 'the cluster and logind tell in their own time');
    assert.equal(endsPhase(passOf({ kind: 'watching' }, [], { drained: true })), false);
  });
});
