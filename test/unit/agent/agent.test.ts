import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Agent } from '../../../src/agent/agent.ts';
import type { AgentRecord } from '../../../src/agent/phase/record.ts';
import type { Phase } from '../../../src/decide/shutdown/phase.ts';
import { NodemaintError } from '../../../src/errors.ts';
import { createLoopRig, type LoopRig, transitions } from '../../support/agent/loop-rig.ts';
import { DRAINING, YES } from '../../support/agent/phase-facts.ts';

const WATCHING: AgentRecord = { phase: { kind: 'watching' }, offlineTargets: [] };
const STOPPED = AbortSignal.abort();

/** The phase that the agent shows, and whether it shows a cluster. */
function shown(agent: Agent): readonly [phase: string, clusterConfigured: boolean] {
  const { phase, cluster } = agent.status();
  return [phase.kind, cluster.configured];
}

describe('the agent', () => {
  it('the agent shows its phase to systemd before the first iteration, which may wait for an API server', async () => {
    const rig = createLoopRig(WATCHING);
    const [first, second] = await rig.iterations();
    assert.equal(first, 'notify waiting for a shutdown');
    assert.equal(second, 'detect');
  });

  it('the agent begins with the recorded phase, and its status follows the phase', async () => {
    const rig = createLoopRig({ phase: DRAINING, offlineTargets: [] }, false);
    assert.deepEqual(shown(rig.agent), ['draining', false]);
    rig.world.goingDown = { kind: 'no' };
    await rig.iterations(3);
    assert.deepEqual(shown(rig.agent), ['watching', false]);
  });

  it('an agent that is stopped makes one iteration and gives the lock back, in mid-drain it keeps the lock', async () => {
    const signal = AbortSignal.timeout(60_000);
    const calm = createLoopRig(WATCHING);
    await calm.agent.run(STOPPED, signal);
    assert.equal(calm.world.calls.at(-1), 'end the lock');
    assert.equal(calm.world.calls.filter((call) => call === 'detect').length, 1);
    const draining = createLoopRig({ phase: DRAINING, offlineTargets: [] });
    Object.assign(draining.world, { goingDown: YES, maintenance: 'open' });
    await draining.agent.run(STOPPED, signal);
    assert.ok(draining.world.calls.includes('hold the lock'));
    assert.ok(!draining.world.calls.includes('end the lock'));
  });
});

/** What the steps of the iteration call that begins a shutdown. */
async function stepsOfBegin(isCluster: boolean): Promise<readonly string[]> {
  const rig = createLoopRig(WATCHING, isCluster);
  rig.world.goingDown = YES;
  const calls = await rig.iterations();
  const begin = calls.indexOf('detect');
  return calls.slice(begin, calls.indexOf('detect', begin + 1));
}

describe('the steps of an iteration', () => {
  it('restore a lost shutdown first, run the hooks before the lock, create the maintenance before pods leave, and show the state last', async () => {
    const calls = await stepsOfBegin(true);
    const ordered = [
      'detect',
      'restore the shutdown',
      'hooks begin',
      'hold the lock',
      'create the maintenance',
      'locate',
      'observe',
    ];
    assert.deepEqual(
      calls.filter((name) => ordered.includes(name)),
      ordered,
    );
    assert.match(calls.at(-1) ?? '', /^notify /);
  });

  it('leave the cluster out where none is configured, and nothing else', async () => {
    const without = await stepsOfBegin(false);
    const cluster = (await stepsOfBegin(true)).filter((name) => !without.includes(name));
    assert.deepEqual(cluster, [
      'forget shutdown-node-a',
      'create the maintenance',
      'known pods',
      'watch requests',
      'report',
    ]);
  });
});

const RESTARTED: AgentRecord = { phase: DRAINING, offlineTargets: [] };

/** What became of the phase and the lock, in the order in which it did. */
function story(calls: readonly string[]): readonly string[] {
  return calls.filter((each) => /^(save|announce|hooks|hold the|release the|create|act)/.test(each));
}

function kindOf(rig: LoopRig): string {
  const phase: Phase = rig.agent.status().phase;
  return phase.kind === 'draining' ? `draining ${phase.mode}` : phase.kind;
}

async function isDraining(): Promise<LoopRig> {
  const rig = createLoopRig(WATCHING);
  rig.world.goingDown = YES;
  await rig.iterations();
  assert.equal(kindOf(rig), 'draining cluster');
  return rig;
}

describe("the agent's iteration", () => {
  it('holds the lock and moves nothing while nothing happens', async () => {
    const rig = createLoopRig(WATCHING);
    assert.deepEqual(story(await rig.iterations()), ['hold the lock', 'act']);
    assert.equal(rig.saved(), undefined);
    assert.deepEqual(rig.log.lines, []);
  });

  it('saves and announces a shutdown, runs its hooks, and creates the maintenance before pods leave', async () => {
    const rig = createLoopRig(WATCHING);
    rig.world.goingDown = YES;
    const calls = await rig.iterations();
    assert.deepEqual(story(calls).slice(0, 6), [
      'save draining',
      'announce ShutdownHeld',
      'hooks begin',
      'hold the lock',
      'create the maintenance',
      'act',
    ]);
    assert.ok(calls.indexOf('locate') > calls.indexOf('save draining'), 'the kubelet may have another directory now');
    assert.ok(calls.includes('forget shutdown-node-a'));
  });

  it('looks for the static pod directory when a shutdown or another drain begins, and again where it failed', async () => {
    const rig = createLoopRig(WATCHING);
    const looks = async (): Promise<number> => (await rig.iterations()).filter((each) => each === 'locate').length;
    assert.equal(await looks(), 0);
    Object.assign(rig.world, { goingDown: YES });
    rig.world.broken.add('locate');
    assert.equal(await looks(), 3, 'the iterations that follow the transitions look again');
    rig.world.broken.clear();
    assert.equal(await looks(), 1);
    assert.equal(await looks(), 0);
  });

  it('reads the facts and decides the phase once', async () => {
    const rig = await isDraining();
    const calls = await rig.iterations();
    assert.equal(calls.filter((each) => each === 'detect').length, 1);
    assert.equal(calls.filter((each) => each === 'observe').length, 1);
  });

  it('lets the lock go in the iteration that decides it, after the hooks', async () => {
    const rig = await isDraining();
    rig.world.drained = true;
    const calls = story(await rig.iterations());
    const from = calls.indexOf('save released');
    assert.deepEqual(calls.slice(from, from + 5), [
      'save released',
      'announce ShutdownReleased',
      'hooks finish',
      'release the lock',
      'act',
    ]);
    assert.deepEqual(transitions(rig), ['begin', 'finish']);
  });

  it('follows at once where the last pass found nothing left to wait for', async () => {
    const rig = await isDraining();
    const before = rig.clock.now();
    rig.world.drained = true;
    await rig.iterations();
    assert.equal(kindOf(rig), 'released');
    assert.ok(rig.clock.now() - before <= 1_000, 'one pause, after all of it');
  });

  it('waits between its looks where the wait for the runtime is over and the hand-over to the cluster is under way', async () => {
    const offlineTargets = [{ podPriority: 0, podType: 'Default' }] as const;
    const rig = createLoopRig({ phase: { ...DRAINING, mode: 'offline' }, offlineTargets });
    Object.assign(rig.world, { goingDown: YES, maintenance: undefined, hasPod: 'not known' });
    const begun = rig.clock.monotonic();
    while (rig.clock.monotonic() - begun < 110_000) await rig.iterations();
    rig.world.maintenance = 'open';
    while (kindOf(rig) === 'draining offline') await rig.iterations();
    assert.ok(rig.clock.monotonic() - begun < 150_000);
  });

  it('goes on offline when the API server is lost, and with the cluster when it has the state of the drain', async () => {
    const rig = createLoopRig(WATCHING);
    rig.world.goingDown = YES;
    rig.world.maintenance = undefined;
    rig.world.hasPod = true;
    const calls = await rig.iterations(20);
    assert.equal(kindOf(rig), 'draining offline');
    assert.ok(calls.includes('stop offline'));
    assert.deepEqual(
      rig.saved()?.offlineTargets.map(({ podType }) => podType),
      ['Default'],
      'the targets are durable',
    );
    rig.world.maintenance = 'open';
    assert.ok((await rig.iterations(30)).includes('kubelet back'));
    assert.equal(kindOf(rig), 'draining cluster');
    assert.deepEqual(transitions(rig), ['begin', 'loseCluster', 'handOver']);
  });

  it('creates the maintenance again, in the iteration that finds it deleted in mid-shutdown', async () => {
    const rig = await isDraining();
    rig.world.maintenance = 'deleted';
    const calls = story(await rig.iterations());
    assert.deepEqual(calls.slice(0, 5), [
      'save draining',
      'announce MaintenanceDeleted',
      'hooks rename',
      'hold the lock',
      'create the maintenance',
    ]);
    assert.equal(rig.world.maintenance, 'open');
    assert.deepEqual(transitions(rig), ['begin', 'rename']);
  });

  it('drains offline, and lets the lock go when no pod is left, where no cluster is configured', async () => {
    const rig = createLoopRig(WATCHING, false);
    rig.world.goingDown = YES;
    rig.world.hasPod = true;
    await rig.iterations(2);
    assert.equal(kindOf(rig), 'draining offline');
    rig.world.hasPod = false;
    assert.ok((await rig.iterations()).includes('release the lock'));
    assert.deepEqual(transitions(rig), ['begin', 'finish']);
  });

  it('puts everything back when the shutdown is called off, and then watches', async () => {
    const rig = await isDraining();
    rig.world.goingDown = { kind: 'no' };
    rig.world.parked = [DRAINING.maintenance];
    const canceled = await rig.iterations(2);
    assert.deepEqual(transitions(rig), ['begin', 'cancel', 'settle']);
    assert.ok(canceled.includes('complete the maintenance') && canceled.includes('kubelet back'));
    assert.equal(kindOf(rig), 'watching');
    assert.deepEqual(rig.saved()?.offlineTargets, []);
  });

  it('recovers as long as manifests of the shutdown are parked', async () => {
    const rig = createLoopRig({ ...RESTARTED, phase: { ...DRAINING, bootId: 'boot-0' } });
    rig.world.parked = [DRAINING.maintenance];
    await rig.iterations(3);
    assert.equal(kindOf(rig), 'recovering');
    rig.world.parked = [];
    await rig.iterations();
    assert.equal(kindOf(rig), 'watching');
    assert.deepEqual(transitions(rig), ['boot', 'settle']);
  });

  it('does not take the view of another phase for what is to be put back', async () => {
    const rig = await isDraining();
    rig.world.goingDown = { kind: 'no' };
    rig.world.broken.add('observe');
    await rig.iterations(3);
    assert.equal(kindOf(rig), 'recovering', 'nobody has seen that nothing is parked');
  });

  it('is forced by an operator at once, and only while a shutdown is held', async () => {
    const rig = await isDraining();
    rig.agent.release('in a hurry');
    const calls = story(await rig.iterations());
    assert.deepEqual(calls.slice(0, 4), [
      'save released',
      'announce ShutdownForced',
      'hooks force',
      'release the lock',
    ]);
    rig.agent.release('again');
    const idle = createLoopRig(WATCHING);
    assert.throws(
      () => {
        idle.agent.release('in a hurry');
      },
      (error) => error instanceof NodemaintError && error.code === 'USAGE',
    );
  });
});

describe('a step that fails', () => {
  const STEPS: [string, string][] = [
    ['restore the shutdown', 'restore a lost shutdown'],
    ['locate', 'locate the static pods'],
    ['hooks begin', 'run the hooks'],
    ['hold the lock', 'keep the shutdown lock'],
    ['other locks', 'watch the locks of others'],
    ['notices', 'serve the notices of a drain'],
    ['create the maintenance', 'create the maintenance'],
    ['observe', 'drain the node and move static pods'],
    ['leave the directory', 'watch the static pod directory'],
    ['notify shutdown held', 'show the state to systemd'],
  ];
  for (const [part, step] of STEPS) {
    it(`does not keep the others from running: ${step}`, async () => {
      const whole = createLoopRig(WATCHING);
      whole.world.goingDown = YES;
      const rig = createLoopRig(WATCHING);
      rig.world.goingDown = YES;
      rig.world.broken.add(part);
      const expected = await whole.iterations(2);
      const calls = new Set(await rig.iterations(2));
      const skipped =
        part === 'observe'
          ? ['act', 'report']
          : part === 'create the maintenance'
            ? ['watch requests', 'hooks specify']
            : [];
      for (const each of expected) assert.ok(calls.has(each) || skipped.includes(each), each);
      assert.equal(kindOf(rig), 'draining cluster');
      const said = rig.log.lines.filter((line) => line.includes('step of the loop failed'));
      assert.equal(said.length, 1, 'once, in all iterations');
      assert.ok(said[0]?.includes(JSON.stringify(step)) === true && said[0].includes(`${part} is broken`), said[0]);
    });
  }

  it('that decides the phase leaves it as it is, and the lock held', async () => {
    const rig = await isDraining();
    rig.world.drained = true;
    rig.world.broken.add('detect');
    const before = rig.clock.now();
    const calls = await rig.iterations(3);
    assert.ok(calls.includes('hold the lock') && calls.includes('act'));
    assert.equal(kindOf(rig), 'draining cluster');
    assert.ok(rig.clock.now() - before >= 3_000, 'it does not spin');
    rig.world.broken.clear();
    await rig.iterations();
    assert.equal(kindOf(rig), 'released');
    assert.match(rig.log.lines.join('\n'), /succeeds again \{"step":"decide the phase"\}/);
  });
});
