import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Eviction, EvictionStatus } from '../../../../../src/api/lifecycle.ts';
import { decideEviction, type EvictionFacts } from '../../../../../src/addons/lifecycle/decide/eviction.ts';
import { rfc3339 } from '../../../../../src/decide/time.ts';
import { A, EVICTOR, eviction, NOW, pod, request, turns } from '../../../decide/lifecycle/objects.ts';

const MINUTE = 60_000;

function facts(known: Eviction, more: Partial<EvictionFacts> = {}): EvictionFacts {
  return { eviction: known, requests: [request()], pod: pod(), isSecond: false, ...more };
}

/** What a status says, in short. */
function short(status: EvictionStatus | undefined): readonly string[] {
  return [
    ...(status?.targetResponders ?? []).map(({ name, state }) => `${name} ${state}`),
    ...(status?.conditions ?? []).map(({ type, status: value, reason }) => `${type}=${value} ${reason}`),
  ];
}

const EVICTED = ['TargetEvicted=True PodDeleted', 'Failed=False Succeeded'];
const TERMINAL = ['TargetEvicted=True PodTerminal', 'Failed=False Succeeded'];
const failed = (reason: string): readonly string[] => ['TargetEvicted=False EvictionFailed', `Failed=True ${reason}`];
const AWAITING = ['TargetEvicted=False AwaitingEviction', 'Failed=False AwaitingEviction'];
const done = { completionTime: rfc3339(NOW) };
const late = NOW + 20 * MINUTE;
const ended = { ...pod(), status: { phase: 'Failed' } };
const inGroup = pod({}, { schedulingGroup: {} });

const CASES: readonly (readonly [what: string, facts: EvictionFacts, at: number, wanted: readonly string[]])[] = [
  ['begins with the first responder', facts(eviction()), NOW, [`${A} Active`, `${EVICTOR} Inactive`, ...AWAITING]],
  [
    'passes on from one that has completed',
    facts(eviction(turns('Active', 'Inactive', done))),
    NOW,
    [`${A} Completed`, `${EVICTOR} Active`, ...AWAITING],
  ],
  [
    'passes on from one that was silent for 20 minutes',
    facts(eviction(turns('Active', 'Inactive'))),
    late,
    [`${A} Interrupted`, `${EVICTOR} Active`, ...AWAITING],
  ],
  [
    'waits for one whose heartbeat is younger',
    facts(eviction(turns('Active', 'Inactive', { heartbeatTime: rfc3339(NOW + MINUTE) }))),
    late,
    AWAITING,
  ],
  [
    'fails when the last one was silent',
    facts(eviction(turns('Completed', 'Active'))),
    late,
    [`${A} Completed`, `${EVICTOR} Interrupted`, ...failed('NoFurtherResponder')],
  ],
  ['fails when all have ended', facts(eviction(turns('Completed', 'Completed'))), NOW, failed('NoFurtherResponder')],
  [
    'is canceled when nobody wants it',
    facts(eviction(turns('Active', 'Inactive')), { requests: [request('x.io/y', { intent: 'Withdrawn' })] }),
    NOW,
    [`${A} Canceled`, `${EVICTOR} Inactive`, ...failed('CanceledDueToNoRequesters')],
  ],
  [
    'is canceled when its requests are gone',
    facts(eviction(turns('Active', 'Inactive', done)), { requests: [] }),
    NOW,
    [`${A} Completed`, `${EVICTOR} Inactive`, ...failed('CanceledDueToNoRequesters')],
  ],
  [
    'waits 5 s for the report of who ended the pod',
    facts(eviction(turns('Active', 'Inactive')), { pod: undefined, endedMs: 4_999 }),
    NOW,
    [],
  ],
  [
    'ends without that report after 5 s',
    facts(eviction(turns('Active', 'Inactive')), { pod: undefined, endedMs: 5_000 }),
    NOW,
    [`${A} Interrupted`, `${EVICTOR} Inactive`, ...EVICTED],
  ],
  [
    'ends at once with that report',
    facts(eviction(turns('Active', 'Inactive', done)), { pod: undefined }),
    NOW,
    [`${A} Completed`, `${EVICTOR} Inactive`, ...EVICTED],
  ],
  [
    'ends with a pod in a terminal phase',
    facts(eviction(turns('Active', 'Inactive', done)), { pod: ended }),
    NOW,
    [`${A} Completed`, `${EVICTOR} Inactive`, ...TERMINAL],
  ],
  ['ends at once where it had not begun', facts(eviction(), { pod: undefined }), NOW, EVICTED],
  ['refuses the pod of a group', facts(eviction(), { pod: inGroup }), NOW, failed('EvictionInvalid')],
  ['refuses a second one for the same target', facts(eviction(), { isSecond: true }), NOW, failed('EvictionInvalid')],
  ['refuses a target that is no pod', facts({ ...eviction(), spec: { target: {} } }), NOW, failed('EvictionInvalid')],
  [
    'fails for a mirror pod that names no responder',
    facts(eviction(), {
      pod: pod({ annotations: { 'kubernetes.io/config.mirror': 'x' } }, { evictionResponders: [] }),
    }),
    NOW,
    failed('NoFurtherResponder'),
  ],
];

describe('one step of an Eviction', () => {
  for (const [what, known, at, wanted] of CASES) {
    it(`the step ${what}`, () => {
      assert.deepEqual(short(decideEviction(known, at).status), wanted);
    });
  }

  it('the step writes nothing once the Eviction is over', () => {
    const over = decideEviction(facts(eviction(), { pod: undefined }), NOW).status ?? {};
    assert.deepEqual(decideEviction(facts(eviction(over)), NOW), {});
  });

  it('the step writes nothing where nothing has changed, and looks again at the heartbeat deadline', () => {
    const first = decideEviction(facts(eviction()), NOW);
    assert.equal(first.againMs, 20 * MINUTE);
    assert.deepEqual(decideEviction(facts(eviction(first.status)), NOW + MINUTE), { againMs: 19 * MINUTE });
  });

  it('both lists begin in one write with the same names, and only the first responder has a start time', () => {
    const { targetResponders = [], responders = [] } = decideEviction(facts(eviction()), NOW).status ?? {};
    assert.deepEqual(
      responders.map(({ name }) => name),
      targetResponders.map(({ name }) => name),
    );
    assert.deepEqual(
      responders.map(({ startTime }) => startTime),
      [rfc3339(NOW), undefined],
    );
  });

  it('the requesters are each name once, those that want the eviction first, those that are gone as withdrawn', () => {
    const requesters = [{ name: 'gone.example.com/x', intent: 'Eviction' }] as const;
    const requests = [
      request('b.example.com/x', { intent: 'Withdrawn' }),
      request('a.example.com/x'),
      request('a.example.com/x', { intent: 'Withdrawn' }),
    ];
    const { status } = decideEviction(facts(eviction({ requesters }), { requests }), NOW);
    assert.deepEqual(status?.requesters, [
      { name: 'a.example.com/x', intent: 'Eviction' },
      { name: 'b.example.com/x', intent: 'Withdrawn' },
      { name: 'gone.example.com/x', intent: 'Withdrawn' },
    ]);
  });

  it('the requesters are at most 100, and those that want the eviction are among them', () => {
    const withdrawn = Array.from({ length: 150 }, (_, index) => request(`r${index}.io/x`, { intent: 'Withdrawn' }));
    const { status } = decideEviction(facts(eviction(), { requests: [...withdrawn, request('last.io/x')] }), NOW);
    assert.equal(status?.requesters?.length, 100);
    assert.deepEqual(status?.requesters?.[0], { name: 'last.io/x', intent: 'Eviction' });
  });
});
