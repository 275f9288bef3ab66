import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { waitOfSaid } from '../../../../src/decide/node/waits.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { TransitionName } from '../../../../src/decide/shutdown/transition.ts';
import {
  begunStory,
  type ShutdownStory,
  STORY_LIMITS,
  type StoryObservation,
  withObservation,
  withReturned,
  withTransition,
} from '../../../../src/decide/story/story.ts';
import { formatReport } from '../../../../src/cli/report/text.ts';
import { outcomeText } from '../../../../src/cli/report/words.ts';
import { timelineOf } from '../../../../src/show/story/timeline.ts';

const START = Date.UTC(2026, 0, 1);
const ORIGIN = { origin: 'logind', reason: 'reboot by uid 0', since: START, bootId: 'b' } as const;
const SHUTDOWN = { maintenance: 'shutdown-n-0', mode: 'cluster', ...ORIGIN } as const;
const DRAINING: Phase = { kind: 'draining', ...SHUTDOWN };
const TIER = { podType: 'Default', podPriority: 0 };
const BUDGET = {
  wait: 'budget' as const,
  on: 'imperative-eviction.k8s.io',
  message:
    'Could not evict a pod due to failing eviction requests, number of retries: 7. Blocked by PodDisruptionBudget p0: it needs 2',
};
const ENDING = { wait: 'grace-period', on: 'kubelet', message: 'Pod web is terminating.' } as const;

function at(sec: number): number {
  return START + sec * 1000;
}

function look(sec: number, waitingFor: StoryObservation['waitingFor']): (story: ShutdownStory) => ShutdownStory {
  return (story) => withObservation(story, { at: at(sec), tier: TIER, waitingFor });
}

function became(sec: number, name: TransitionName, to: Phase, from: Phase = DRAINING) {
  return (story: ShutdownStory): ShutdownStory => withTransition(story, { name, from, to }, at(sec));
}

function story(...steps: readonly ((story: ShutdownStory) => ShutdownStory)[]): ShutdownStory {
  return steps.reduce((so, step) => step(so), begunStory('n', { ...SHUTDOWN }));
}

const RELEASED: Phase = { kind: 'released', releasedAt: at(60), ...SHUTDOWN };
const BACK: Phase = { kind: 'recovering', cause: 'boot', ...SHUTDOWN };

describe('the story of a shutdown', () => {
  const whole = story(
    look(0, [
      {
        wait: 'controller',
        what: 'shutdown-n-0',
        on: 'nodemaint controller',
        message: 'the controller to drain the node',
      },
    ]),
    look(5, [
      { what: 'a/web', ...ENDING, since: at(4) },
      { what: 'a/db', ...BUDGET },
    ]),
    look(15, [{ what: 'a/db', ...BUDGET, message: BUDGET.message.replace('7', '8') }]),
    look(50, [{ what: 'a/db', ...ENDING }]),
    became(60, 'finish', RELEASED),
    became(100, 'boot', BACK, RELEASED),
    (so) => withReturned(so, ['etcd.yaml'], at(101)),
    became(102, 'settle', { kind: 'watching' }),
  );

  it('the story has each pod from first asked to gone, and what it waited for', () => {
    const [web, db] = whole.pods;
    assert.deepEqual([web?.pod, web?.askedAt, web?.goneAt, web?.tier], ['a/web', at(4), at(15), TIER]);
    assert.deepEqual([db?.askedAt, db?.goneAt], [at(5), at(60)]);
    assert.deepEqual(
      db?.waits.map(({ from, kind, message }) => [from, kind, message]),
      [
        [at(5), 'waiting', 'PodDisruptionBudget p0: it needs 2'],
        [at(50), 'ending', ''],
      ],
    );
  });

  it('the time line splits the time of the hold, and its parts add up to it', () => {
    const { spent, awayMs, outcome, pods, podsLeft, from, to } = timelineOf(whole, at(500));
    assert.deepEqual([outcome, pods, podsLeft, from, to, awayMs], ['drained', 2, 0, at(0), at(60), 40_000]);
    // web ends from 4 to 15, db from 50 to 60.
    const parts = { endingMs: 21_000, interceptorMs: 0, waitingMs: 35_000, betweenMs: 4_000 };
    assert.deepEqual(spent, { heldMs: 60_000, ...parts, addedMs: 39_000 });
  });

  it('the time line says why no budget was asked for a pod that ended by itself', () => {
    const notAsked = 'PodDisruptionBudget p0 is not asked: node n goes down, and no node that stays could take one.';
    const message = `Pod web is terminating. ${notAsked}`;
    const story = look(20, [{ what: 'd/web', on: BUDGET.on, message, wait: 'grace-period' }])(
      look(10, [{ what: 'd/web', ...BUDGET }])(begunStory('n', SHUTDOWN)),
    );
    const ending = timelineOf(story, at(30)).causes.find(({ kind }) => kind === 'ending');
    assert.equal(ending?.text, `it ends by itself: ${notAsked}`);
  });

  it('the time line tells in order what happened, with the manifests that came back', () => {
    const texts = timelineOf(whole, at(500)).moments.map(({ text }) => text);
    assert.deepEqual(texts, [
      'the shutdown is held',
      'waiting for nodemaint controller: the controller to drain the node',
      'all pods have left, the machine may go down',
      'the machine is back',
      'etcd.yaml is back in its place',
      'everything is back in its place',
    ]);
  });

  it('a pod that is there when the shutdown is forced is left, and the reason is told', () => {
    const forced: Phase = { ...RELEASED, kind: 'released', releasedAt: at(20), forced: 'in a hurry' };
    const line = timelineOf(story(look(5, [{ what: 'a/db', ...BUDGET }]), became(20, 'force', forced)), at(30));
    assert.deepEqual([line.outcome, line.why, line.podsLeft, line.to], ['not drained', 'in a hurry', 1, at(20)]);
  });

  it('a shutdown that is called off after its release did not take the machine down', () => {
    const off: Phase = { ...BACK, kind: 'recovering', cause: 'canceled' };
    const gone = timelineOf(story(became(20, 'finish', RELEASED), became(30, 'cancel', off, RELEASED)), at(40));
    assert.deepEqual([gone.outcome, gone.podsLeft, gone.to], ['called off', 0, at(20)]);
    assert.equal(outcomeText(gone), 'the shutdown was called off after every pod had left');
    const forced: Phase = { ...RELEASED, kind: 'released', releasedAt: at(20), forced: 'in a hurry' };
    const waits = look(5, [{ what: 'a/db', ...BUDGET }]);
    const left = timelineOf(story(waits, became(20, 'force', forced), became(30, 'cancel', off, forced)), at(40));
    assert.equal(outcomeText(left), 'the shutdown was called off; 1 pod was left: in a hurry');
    const early = timelineOf(story(waits, became(30, 'cancel', off)), at(40));
    assert.equal(outcomeText(early), 'the shutdown was called off');
  });

  it('why a shutdown was announced and who took it back is told', () => {
    const asked = begunStory('n', { ...SHUTDOWN, origin: 'trigger' });
    const off: Phase = { ...BACK, kind: 'recovering', cause: 'canceled', canceledBy: 'root' };
    const line = timelineOf(withTransition(asked, { name: 'cancel', from: DRAINING, to: off }, at(5)), at(9));
    assert.ok(line.moments.some(({ text }) => text === 'the shutdown was called off: by root'));
    const text = formatReport(line, 120);
    assert.match(text, /Asked by: +reboot by uid 0 \(trigger, shutdown-n-0\)/);
  });

  for (const message of [
    'Pod web is terminating.',
    'kubelet.k8s.io is terminating the pod due to node maintenance (disk swap).',
    'daemonset.apps.k8s.io is terminating the pod due to node maintenance.',
  ]) {
    it(`a pod of which "${message}" is said ends by itself, and nothing else is waited for`, () => {
      const wait = waitOfSaid('kubelet.k8s.io', message);
      const so = story(look(1, [{ wait, what: 'a/web', on: 'kubelet.k8s.io', message }]), look(9, []));
      const { causes } = timelineOf(so, at(10));
      assert.deepEqual([causes.length, causes[0]?.text], [1, 'their own end']);
    });
  }

  it('a machine that goes down before its pods ended is told so', () => {
    const line = timelineOf(story(look(5, [{ what: 'a/db', ...BUDGET }]), became(90, 'boot', BACK)), at(100));
    assert.deepEqual([line.outcome, line.awayMs], ['went down undrained', undefined]);
  });

  it('the story stays within its limits, and counts the pods that it leaves out', () => {
    const long = { wait: 'controller' as const, on: 'x'.repeat(9_000), message: '\u001B[2J'.repeat(9_000) };
    const many = Array.from({ length: 700 }, (_, index) => ({ what: `a/${index}`, ...long }));
    let so = story(look(1, many));
    for (let sec = 2; sec < 40; sec += 1) {
      const others = many.map((each) => ({ ...each, message: `m${sec}` }));
      so = look(sec, others)(so);
    }
    assert.deepEqual([so.pods.length, so.podsLeftOut], [STORY_LIMITS.pods, 200]);
    assert.ok(so.pods.every(({ waits }) => waits.length <= STORY_LIMITS.waits));
    assert.ok(JSON.stringify(so).length < 4 * 1024 * 1024);
    assert.equal(timelineOf(so, at(50)).pods, 700);
  });

  for (const [wait, kind] of [
    ['manifest', 'waiting'],
    ['interceptor', 'interceptor'],
    ['silent-interceptor', 'interceptor'],
    ['controller', 'waiting'],
    ['grace-period', 'ending'],
  ] as const) {
    it(`a pod that waits for this is ${kind}: ${wait}`, () => {
      const so = story(look(1, [{ wait, what: 'a/x', on: 'kubelet', message: '' }]));
      assert.equal(so.pods[0]?.waits[0]?.kind, kind);
    });
  }

  it('a pod whose containers are ending is told as one that ends by itself, whatever is said of it', () => {
    const so = story(look(1, [{ wait: 'grace-period', what: 'a/x', on: 'kubelet', message: 'manifest parked' }]));
    const { waits = [] } = so.pods[0] ?? {};
    assert.deepEqual([waits.length, waits[0]?.kind, waits[0]?.message], [1, 'ending', '']);
  });
});
