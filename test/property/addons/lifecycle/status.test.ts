import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Eviction, EvictionStatus, LifecycleRequest } from '../../../../src/api/lifecycle.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import type { Progress } from '../../../../src/decide/eviction/heartbeat.ts';
import { decideEviction } from '../../../../src/addons/lifecycle/decide/eviction.ts';
import { decideReport } from '../../../../src/decide/lifecycle/report.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { statusErrors } from '../../../support/eviction/lifecycle-rules.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const UID = '3d7fdff1-3fe5-48b9-b106-1ee24b0277f6';
const RESPONDERS = [
  { name: 'a.example.com/x', priority: 1_000 },
  { name: 'b.example.com/x', priority: 20_000 },
  { name: 'b.example.com/a', priority: 20_000 },
  { name: 'c.b.example.com/x', priority: 100_000 },
];

/** What happens between two looks of the controller. */
type Step =
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'report'; readonly progress: Progress; readonly skewMs: number }
  | { readonly kind: 'pod'; readonly now: 'gone' | 'terminal' | 'group' | 'replaced' }
  | { readonly kind: 'intent'; readonly of: number; readonly intent: 'Eviction' | 'Withdrawn' }
  | { readonly kind: 'second' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 25 * 60_000 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      progress: fc.record(
        {
          message: fc.string({ maxLength: 5_000, unit: 'grapheme' }),
          completed: fc.boolean(),
          expectedFinishAt: fc.integer({ min: START - 1e9, max: START + 1e13 }),
        },
        { requiredKeys: ['message'] },
      ) as fc.Arbitrary<Progress>,
      skewMs: fc.integer({ min: -20_000, max: 20_000 }),
    }),
  },
  fc.record({ kind: fc.constant('pod' as const), now: fc.constantFrom('gone', 'terminal', 'group', 'replaced') }),
  fc.record({
    kind: fc.constant('intent' as const),
    of: fc.nat({ max: 1 }),
    intent: fc.constantFrom('Eviction', 'Withdrawn'),
  }),
  fc.record({ kind: fc.constant('second' as const) }),
);

function podOf(evictionResponders: NonNullable<Pod['spec']['evictionResponders']>, isMirror: boolean): Pod {
  const annotations = isMirror ? { 'kubernetes.io/config.mirror': 'x' } : {};
  return {
    metadata: { name: 'web', namespace: 'shop', uid: UID, annotations },
    spec: { evictionResponders },
    status: { phase: 'Running' },
  };
}

function podAfter(pod: Pod | undefined, now: Extract<Step, { kind: 'pod' }>['now']): Pod | undefined {
  if (pod === undefined || now === 'gone' || now === 'replaced') return undefined;
  if (now === 'terminal') return { ...pod, status: { phase: 'Succeeded' } };
  return { ...pod, spec: { ...pod.spec, schedulingGroup: { podGroupName: 'g' } } };
}

/** One Eviction with its pod and its requests, as an API server has them. */
class Cluster {
  now = START;
  pod: Pod | undefined;
  isSecond = false;
  writes = 0;
  eviction: Eviction = {
    metadata: { name: 'pod-1-web', namespace: 'shop', uid: 'e', generation: 1 },
    spec: { target: { pod: { name: 'web', uid: UID } } },
  };
  #endedAt: number | undefined;
  readonly requests: LifecycleRequest[] = [0, 1].map((index) => ({
    metadata: { name: `r-${index}`, namespace: 'shop', uid: `r-${index}`, generation: 1 },
    spec: { target: { pod: { name: 'web', uid: UID } }, requester: `r${index}.example.com/x`, intent: 'Eviction' },
  }));

  constructor(pod: Pod) {
    this.pod = pod;
  }

  #write(changed: EvictionStatus, clock: number): void {
    const was = this.eviction.status ?? {};
    const is = { ...was, ...changed };
    assert.deepEqual(statusErrors(was, is, clock), [], JSON.stringify({ was, is }));
    this.eviction = { ...this.eviction, status: is };
    this.writes += 1;
  }

  look(): void {
    const isEnded = this.pod === undefined || this.pod.status?.phase === 'Succeeded';
    this.#endedAt = isEnded ? (this.#endedAt ?? this.now) : undefined;
    const endedMs = this.#endedAt === undefined ? 0 : this.now - this.#endedAt;
    const { eviction, requests, pod, isSecond } = this;
    const { status } = decideEviction({ eviction, requests, pod, isSecond, endedMs }, this.now);
    if (status !== undefined) this.#write(status, this.now);
  }

  apply(happens: Step): void {
    if (happens.kind === 'pass') this.now += happens.ms;
    if (happens.kind === 'pod') this.pod = podAfter(this.pod, happens.now);
    if (happens.kind === 'second') this.isSecond = true;
    if (happens.kind === 'intent') {
      const known = this.requests[happens.of];
      if (known) this.requests[happens.of] = { ...known, spec: { ...known.spec, intent: happens.intent } };
    }
    if (happens.kind === 'report') this.#report(happens);
  }

  #report({ progress, skewMs }: Extract<Step, { kind: 'report' }>): void {
    const { targetResponders = [], responders = [] } = this.eviction.status ?? {};
    const active = targetResponders.find(({ state }) => state === 'Active')?.name;
    const old = responders.find(({ name }) => name === active);
    if (old === undefined) return;
    const entry = decideReport(old, progress, this.now + skewMs);
    if (entry === undefined) return;
    const startTime = old.startTime === undefined ? {} : { startTime: old.startTime };
    this.#write(
      { responders: responders.map((each) => (each.name === active ? { ...entry, ...startTime } : each)) },
      this.now,
    );
  }
}

describe('the statuses of Evictions, by the rules of the API server', () => {
  it('the API server takes every status of the controller and of a responder, whatever happens in between', () => {
    let writes = 0;
    fc.assert(
      fc.property(
        fc.subarray(RESPONDERS),
        fc.boolean(),
        fc.array(step, { maxLength: 14 }),
        (named, isMirror, steps) => {
          const cluster = new Cluster(podOf(named, isMirror));
          cluster.look();
          for (const each of steps) {
            cluster.apply(each);
            cluster.look();
            cluster.look();
          }
          writes += cluster.writes;
        },
      ),
      { numRuns: 2_000 },
    );
    assert.ok(writes > 4_000, `only ${writes} writes`);
  });

  it('the rules refuse what the cases of the API server refuse', () => {
    const startTime = rfc3339(START);
    const first = { name: 'b.example.com/x', priority: 20_000 };
    const last = { name: 'imperative-eviction.k8s.io/evictor', priority: 100 };
    const turns = (a: string, b: string): EvictionStatus['targetResponders'] =>
      [
        { ...first, state: a },
        { ...last, state: b },
      ] as EvictionStatus['targetResponders'];
    const failed = { type: 'Failed', status: 'True', reason: 'X', message: '', lastTransitionTime: startTime } as const;
    const was: EvictionStatus = {
      targetResponders: turns('Active', 'Inactive') ?? [],
      responders: [{ name: first.name, startTime }, { name: last.name }],
    };
    const passedOn = [
      { name: first.name, startTime },
      { name: last.name, startTime },
    ];
    const CASES: readonly (readonly [string, EvictionStatus, EvictionStatus, RegExp])[] = [
      [
        'both begin',
        {},
        { targetResponders: turns('Active', 'Active') ?? [], responders: passedOn },
        /one of Inactive/,
      ],
      ['the last one begins', {}, { ...was, targetResponders: turns('Inactive', 'Active') ?? [] }, /one of Active/],
      [
        'a turn ends early',
        was,
        { targetResponders: turns('Interrupted', 'Active') ?? [], responders: passedOn },
        /stay Active/,
      ],
      [
        'completed without a time',
        was,
        { targetResponders: turns('Completed', 'Active') ?? [], responders: passedOn },
        /completionTime/,
      ],
      ['the turn goes on after the end', was, { ...was, conditions: [failed] }, /one of Interrupted/],
      [
        'a list loses an entry',
        was,
        { targetResponders: was.targetResponders?.slice(0, 1) ?? [], responders: passedOn },
        /same keys/,
      ],
      ['an end is taken back', { conditions: [failed] }, {}, /reverted/],
      [
        'another one speaks',
        was,
        {
          ...was,
          responders: [
            { name: first.name, startTime },
            { name: last.name, message: 'x' },
          ],
        },
        /immutable/,
      ],
      [
        'a start is moved',
        was,
        { ...was, responders: [{ name: first.name, startTime: rfc3339(START + 2_000) }, { name: last.name }] },
        /immutable/,
      ],
      [
        'a beat before the start',
        was,
        {
          ...was,
          responders: [{ name: first.name, startTime, heartbeatTime: rfc3339(START - 5_000) }, { name: last.name }],
        },
        /after startTime/,
      ],
      [
        'a beat of another time',
        was,
        {
          ...was,
          responders: [{ name: first.name, startTime, heartbeatTime: rfc3339(START + 60_000) }, { name: last.name }],
        },
        /present time/,
      ],
    ];
    for (const [what, before, after, why] of CASES) {
      assert.match(statusErrors(before, after, START).join('; '), why, what);
    }
    assert.deepEqual(statusErrors({}, was, START), []);
  });
});
