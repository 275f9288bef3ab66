/** The clock of a machine is set while timers run, by NTP or by hand: none of them may take longer, or be over early. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { HandOver, type HandOverParts } from '../../../src/agent/drain/offline/hand-over.ts';
import { KnownPods } from '../../../src/agent/drain/offline/known-pods.ts';
import { GateRelease } from '../../../src/agent/daemon-set/gate.ts';
import { createParkTimes } from '../../../src/agent/static-pods/static-pods.ts';
import { SandboxStops } from '../../../src/host/cri/sandbox-stops.ts';
import { parseAgentConfig } from '../../support/agent/config.ts';
import { asOfNow, momentOf } from '../../../src/host/clock.ts';
import type { ContainerRuntime } from '../../../src/host/cri/runtime.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { NO_ATTEMPT } from '../../../src/decide/eviction/imperative.ts';
import { EvictionAttempts } from '../../../src/kube/eviction/attempt-memory.ts';
import type { ParkStep } from '../../../src/static-pods/journal/journal.ts';
import { createSteppingClock, type SteppingClock } from '../../support/stand-ins/stepping-clock.ts';
import { openTestState } from '../../support/agent/state.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { drainingPhase } from '../../support/agent/phase-facts.ts';

const CONFIG = '{apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1, kind: AgentConfiguration}';
const HOUR = 3_600_000;
const SIGNAL = new AbortController().signal;

/** An API server that is asked and has nothing. */
function countingClient(answer: object = { metadata: { resourceVersion: '1' }, items: [] }): {
  client: KubeClient;
  asked: () => number;
} {
  let count = 0;
  const client: KubeClient = {
    send: () => {
      count += 1;
      return Promise.resolve({ status: 200, headers: {}, body: answer });
    },
    watch: async function* () {},
    close: () => undefined,
  };
  return { client, asked: () => count };
}

/** The timers of the agent and the controller that wait for so many milliseconds between two tries. */
const tries: [string, number, (clock: SteppingClock, t: TestContext) => Promise<() => Promise<number>>][] = [
  [
    'the hand-over of a local drain',
    5_000,
    (clock) => {
      let count = 0;
      const { client } = countingClient();
      const own = { state: () => 'absent', create: () => Promise.reject(new Error(`away ${(count += 1)}`)) };
      const config = parseAgentConfig(CONFIG, 'agent.yaml');
      const context = {
        clock,
        cluster: { client, own, ownNode: { observe: () => Promise.resolve({ kind: 'unknown' }) } },
        config,
        log: SILENT_LOG,
        nodeName: 'n1',
        staticPods: { stuck: () => new Set() },
      } as unknown as HandOverParts;
      const handOver = new HandOver(context);
      const phase = drainingPhase('offline', { maintenance: 'shutdown-n1-x', since: clock.now() });
      return Promise.resolve(async () => {
        await handOver.attempt({ phase, offlineTargets: [] }, SIGNAL);
        return count;
      });
    },
  ],
  [
    'the release of held pods',
    5_000,
    (clock) => {
      const { client, asked } = countingClient();
      const gates = new GateRelease({ client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined });
      gates.begin();
      return Promise.resolve(async () => {
        await gates.release(SIGNAL);
        return asked();
      });
    },
  ],
  [
    'what is known of the pods',
    HOUR,
    async (clock, t) => {
      const { client, asked } = countingClient();
      const state = await openTestState(await temporaryFolder(t, 'clock'));
      const known = new KnownPods({
        state,
        nodeName: 'n1',
        client,
        kubeletPods: () => Promise.resolve(undefined),
        clock,
        log: SILENT_LOG,
      });
      return async () => {
        await known.refresh('up', SIGNAL);
        return asked();
      };
    },
  ],
];

describe('a clock that is set', () => {
  for (const [name, everyMs, make] of tries) {
    it(`a clock that is set back or ahead does not move the next try of ${name}`, async (t) => {
      const clock = createSteppingClock();
      const attempt = await make(clock, t);
      assert.equal(await attempt(), 1);
      clock.set(HOUR);
      assert.equal(await attempt(), 1, 'ahead');
      clock.set(-2 * HOUR);
      clock.pass(everyMs - 1);
      assert.equal(await attempt(), 1, 'back, and too early');
      clock.pass(1);
      assert.equal(await attempt(), 2, 'back, and due');
    });
  }

  it('a clock that is set does not have a pod stopped again, or a shorter stop left out', () => {
    const clock = createSteppingClock();
    const asked: number[] = [];
    const stopPod = (_id: string, graceSec: number): Promise<void> => {
      asked.push(graceSec);
      return new Promise(() => undefined);
    };
    const stops = new SandboxStops({ stopPod } as unknown as ContainerRuntime, { clock, log: SILENT_LOG });
    const news = {};
    stops.begin('s', 60, news, SIGNAL);
    clock.set(-HOUR);
    stops.begin('s', 60, news, SIGNAL);
    clock.set(2 * HOUR);
    stops.begin('s', 10, news, SIGNAL);
    assert.deepEqual(asked, [60, 10]);
  });

  it('a clock that is set does not change for how long a manifest has been parked', () => {
    const clock = createSteppingClock();
    const step: ParkStep = { op: 'park', file: 'a.yaml', sha256: '', maintenance: 'm', at: clock.now(), bootId: 'b' };
    const steps = new Map([[step.file, step]]);
    const times = createParkTimes(clock);
    const agoMs = (): number => clock.now() - (times(steps).get(step.file)?.at ?? Number.NaN);
    clock.pass(20_000);
    assert.equal(agoMs(), 20_000);
    clock.set(-HOUR);
    clock.pass(10_000);
    assert.equal(agoMs(), 30_000);
    clock.set(3 * HOUR);
    assert.equal(agoMs(), 30_000);
    const restarted = createParkTimes(clock);
    clock.set(-6 * HOUR);
    assert.equal(restarted(steps).get(step.file)?.at, clock.now(), 'parked in the time to come');
  });

  it('a clock that is set does not move the next attempt of an eviction', () => {
    const clock = createSteppingClock();
    const memories = new EvictionAttempts(clock);
    memories.set('r', { ...NO_ATTEMPT, nextAt: clock.now() + 5_000, promisedAt: clock.now() });
    clock.set(-HOUR);
    clock.pass(2_000);
    const memory = memories.get('r');
    assert.equal((memory?.nextAt ?? 0) - clock.now(), 3_000);
    assert.equal(clock.now() - (memory?.promisedAt ?? 0), 2_000);
    assert.deepEqual(memories.list(), [['r', memory]]);
  });

  it('a clock that is set leaves moments as they were written where it was not set', () => {
    const clock = createSteppingClock();
    const moment = momentOf(clock);
    clock.pass(HOUR);
    clock.set(900);
    assert.equal(asOfNow(moment, momentOf(clock)), moment.wall);
  });
});
