import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type DrainPass, EMPTY_PASS } from '../../../../src/agent/drain/drainer.ts';
import { RunningPods } from '../../../../src/agent/drain/running-pods.ts';
import { SOURCE_ANNOTATION } from '../../../../src/api/names.ts';
import type { Waiting } from '../../../../src/decide/node/waits.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { Alone } from '../../../../src/decide/shutdown/completed-maintenance.ts';
import { LONGEST_RUNNING_MS } from '../../../../src/decide/shutdown/running-pods.ts';
import type { PodSandbox } from '../../../../src/host/cri/runtime.ts';
import { createRecordingLog, type RecordingLog } from '../../../support/agent/recording-log.ts';
import { createSteppingClock, type SteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const DRAINED: DrainPass = { ...EMPTY_PASS, drained: true };

interface Scene {
  readonly look: RunningPods;
  readonly log: RecordingLog;
  readonly clock: SteppingClock;
  readonly phase: Phase;
  /** The names of the pods that the API server gave to the kubelet, and that run. */
  pods: readonly string[];
  /** When they were made, after the shutdown was seen. */
  madeAfterMs: number;
  /** Why the runtime does not answer. */
  failure: string | undefined;
  asked: number;
}

function scene(deadlineAfterMs?: number): Scene {
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const since = clock.now();
  const deadline = deadlineAfterMs === undefined ? {} : { deadline: { at: since + deadlineAfterMs, since } };
  const shutdown = { maintenance: 'm', origin: 'logind', reason: 'r', since, bootId: 'b', ...deadline } as const;
  const phase: Phase = { kind: 'draining', mode: 'cluster', ...shutdown };
  const sandboxOf = (podName: string): PodSandbox => {
    const place = { id: podName, namespace: 'default', podName, podUid: podName, ready: true, labels: {} };
    return {
      ...place,
      createdAt: since + made.madeAfterMs,
      annotations: { [SOURCE_ANNOTATION]: 'api' },
      runningContainers: 1,
    };
  };
  const livePods = (): Promise<readonly PodSandbox[]> => {
    made.asked += 1;
    return made.failure === undefined
      ? Promise.resolve(made.pods.map(sandboxOf))
      : Promise.reject(new Error(made.failure));
  };
  const look = new RunningPods({ runtime: { livePods }, clock, log });
  const made: Scene = { look, log, clock, phase, pods: [], madeAfterMs: -1, failure: undefined, asked: 0 };
  return made;
}

describe('the look at the container runtime before a machine is let go', () => {
  it('is not taken before the drain is over, nor while no shutdown is under way', async () => {
    const { look, phase, ...rest } = scene();
    assert.equal(await look.after(EMPTY_PASS, phase, SIGNAL), EMPTY_PASS);
    assert.equal(await look.after(DRAINED, { kind: 'watching' }, SIGNAL), DRAINED);
    assert.equal(rest.asked, 0);
  });

  it('lets a machine go on which nothing runs', async () => {
    const { look, phase } = scene();
    assert.equal(await look.after(DRAINED, phase, SIGNAL), DRAINED);
  });

  it('waits for a pod that was placed while the node was being cordoned', async () => {
    const made = scene();
    made.pods = ['web'];
    made.madeAfterMs = 1_000;
    assert.equal((await made.look.after(DRAINED, made.phase, SIGNAL)).drained, false);
  });

  it('waits for pods that run, names them, and lets the machine go when they have ended', async () => {
    const made = scene();
    made.pods = ['web', 'db'];
    const pass = await made.look.after(DRAINED, made.phase, SIGNAL);
    assert.equal(pass.drained, false);
    assert.deepEqual(
      pass.waiting.map(({ what, on, since, expectedAt }) => ({ what, on, since, expectedAt })),
      ['default/db', 'default/web'].map((what) => {
        const since = made.clock.now();
        return { what, on: 'container runtime', since, expectedAt: since + LONGEST_RUNNING_MS };
      }),
    );
    made.clock.pass(10_000);
    await made.look.after(DRAINED, made.phase, SIGNAL);
    assert.equal(made.log.lines.length, 1, 'it is logged once');
    made.pods = [];
    assert.equal(await made.look.after(DRAINED, made.phase, SIGNAL), DRAINED);
  });

  it('waits for pods that came while the machine waited for its turn, and for none that came past its cordon', async () => {
    const made = scene();
    made.pods = ['web'];
    made.madeAfterMs = 120_000;
    const downSince = made.clock.now() + 300_000;
    assert.equal((await made.look.after({ ...DRAINED, downSince }, made.phase, SIGNAL)).drained, false);
    made.madeAfterMs = 310_000;
    assert.equal((await made.look.after({ ...DRAINED, downSince }, made.phase, SIGNAL)).drained, true);
  });

  it('waits two minutes at most, and says what was left beside what stays in any case', async () => {
    const made = scene();
    made.pods = ['web'];
    await made.look.after(DRAINED, made.phase, SIGNAL);
    made.clock.pass(LONGEST_RUNNING_MS - 1);
    assert.equal((await made.look.after(DRAINED, made.phase, SIGNAL)).drained, false);
    made.clock.pass(1);
    const { drained, left } = await made.look.after({ ...DRAINED, left: 'a pod that stays' }, made.phase, SIGNAL);
    assert.equal(drained, true);
    assert.match(left ?? '', /^a pod that stays; the API server .*default\/web$/);
  });

  it('does not wait beyond the deadline of the shutdown', async () => {
    const made = scene(20_000);
    made.pods = ['web'];
    const pass = await made.look.after(DRAINED, made.phase, SIGNAL);
    assert.equal(pass.waiting[0]?.expectedAt, made.clock.now() + 20_000);
    made.clock.pass(20_000);
    const { drained, left } = await made.look.after(DRAINED, made.phase, SIGNAL);
    assert.equal(drained, true);
    assert.match(left ?? '', /default\/web/);
  });

  it('goes by what the API server says where the runtime does not answer, and logs it', async () => {
    const made = scene();
    made.failure = 'gone';
    assert.equal(await made.look.after(DRAINED, made.phase, SIGNAL), DRAINED);
    assert.match(made.log.lines.join('\n'), /^warn the container runtime does not tell .*gone/);
  });

  it('begins to wait anew after a drain that went on', async () => {
    const made = scene();
    made.pods = ['web'];
    await made.look.after(DRAINED, made.phase, SIGNAL);
    made.clock.pass(LONGEST_RUNNING_MS);
    await made.look.after(EMPTY_PASS, made.phase, SIGNAL);
    assert.equal((await made.look.after(DRAINED, made.phase, SIGNAL)).drained, false);
  });
});

describe('the look at the container runtime after somebody has completed the NodeMaintenance', () => {
  /** The drain goes on without the cluster. */
  function alone(made: Scene): Alone {
    assert.ok(made.phase.kind === 'draining');
    return { ...made.phase, mode: 'offline', completed: { sinceBootMs: made.clock.monotonic() } };
  }

  it('is taken in each pass, and names what still runs beside what is ending already', async () => {
    const made = scene();
    made.pods = ['web', 'db'];
    const ending: Waiting = { wait: 'grace-period', what: 'default/db', on: 'container runtime', message: 'is ending' };
    const pass = await made.look.afterCompletion({ ...EMPTY_PASS, waiting: [ending] }, alone(made), SIGNAL);
    assert.deepEqual(pass.running, ['default/db', 'default/web']);
    assert.deepEqual(
      pass.waiting.map(({ what, message }) => `${what} ${message}`),
      ['default/db is ending', 'default/web still runs, although somebody has completed the NodeMaintenance'],
    );
    assert.equal(pass.waiting[1]?.expectedAt, made.clock.now() + LONGEST_RUNNING_MS);
    await made.look.afterCompletion(EMPTY_PASS, alone(made), SIGNAL);
    assert.equal(made.log.lines.length, 1, 'it is logged once');
    assert.match(made.log.lines[0] ?? '', /default\/db, default\/web/);
  });

  it('does not let the machine go while pods run that a pass does not see', async () => {
    const made = scene();
    made.pods = ['web'];
    assert.equal((await made.look.afterCompletion(DRAINED, alone(made), SIGNAL)).drained, false);
    made.pods = [];
    const { drained, left, running } = await made.look.afterCompletion(DRAINED, alone(made), SIGNAL);
    assert.deepEqual({ drained, left, running }, { drained: true, left: undefined, running: [] });
  });

  it('lets the completion count where the runtime does not answer for ten seconds', async () => {
    const made = scene();
    made.failure = 'gone';
    const phase = alone(made);
    const first = await made.look.afterCompletion(DRAINED, phase, SIGNAL);
    assert.deepEqual([first.drained, first.running], [false, undefined]);
    made.clock.pass(9_999);
    assert.equal((await made.look.afterCompletion(EMPTY_PASS, phase, SIGNAL)).drained, false);
    made.clock.pass(1);
    const { drained, left } = await made.look.afterCompletion(EMPTY_PASS, phase, SIGNAL);
    assert.equal(drained, true);
    assert.match(left ?? '', /^somebody has completed the NodeMaintenance m, .*gone/);
  });

  it('begins to wait for the runtime anew when it has answered', async () => {
    const made = scene();
    made.failure = 'gone';
    const phase = alone(made);
    await made.look.afterCompletion(EMPTY_PASS, phase, SIGNAL);
    made.clock.pass(9_999);
    made.failure = undefined;
    await made.look.afterCompletion(EMPTY_PASS, phase, SIGNAL);
    made.failure = 'gone again';
    made.clock.pass(1);
    assert.equal((await made.look.afterCompletion(EMPTY_PASS, phase, SIGNAL)).drained, false);
  });
});
