import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../src/api/meta.ts';
import type {
  EvictionRequest,
  EvictionRequestStatus,
  InterceptorStatus,
} from '../../../../src/api/eviction-request.ts';
import { decideTimes } from '../../../../src/decide/eviction/admission-times.ts';
import { trustedEntry } from '../../../../src/decide/eviction/trusted-times.ts';

const A = 'actor-a.example.com';
const B = 'actor-b.example.com';
/** Not on a whole second: times that are written are rounded down. */
const NOW = Date.parse('2026-05-01T12:00:00.700Z');
const MINUTE = 60_000;

/** The time `seconds` after the present second. */
function at(seconds: number): string {
  return new Date(Math.floor(NOW / 1000) * 1000 + seconds * 1000).toISOString().replace('.000Z', 'Z');
}

function requestOf(status: EvictionRequestStatus | undefined, created = at(-3600)): EvictionRequest {
  return {
    metadata: { name: 'u-1', namespace: 'shop', creationTimestamp: created },
    spec: { target: { pod: { name: 'web', uid: 'u-1' } } },
    ...(status === undefined ? {} : { status }),
  };
}

function withEntry(entry: Omit<InterceptorStatus, 'name'>): EvictionRequest {
  return requestOf({ activeInterceptors: [A], interceptors: [{ name: A, message: '', ...entry }] });
}

/** The words of the refusal; empty where the write is allowed. */
function refusal(old: EvictionRequest, fresh: EvictionRequest, now = NOW): string {
  const decision = decideTimes(old, fresh, now);
  return decision.kind === 'refused' ? decision.message : '';
}

const progressingSince = (time: string): readonly Condition[] => [
  { type: 'Progressing', status: 'True', reason: 'InterceptorActive', message: '', lastTransitionTime: time },
];
const ended = (type: string, status: 'True' | 'False'): readonly Condition[] => [
  { type, status, reason: 'R', message: '', lastTransitionTime: at(0) },
];

describe('the times that an interceptor sets', () => {
  const cases: readonly [keyof InterceptorStatus, number, 'allowed' | 'refused'][] = [
    ['startTime', 0, 'allowed'],
    ['startTime', 10, 'allowed'],
    ['startTime', 11, 'refused'],
    ['startTime', -10, 'allowed'],
    ['startTime', -11, 'refused'],
    ['heartbeatTime', 0, 'allowed'],
    ['heartbeatTime', 10, 'allowed'],
    ['heartbeatTime', 11, 'refused'],
    ['heartbeatTime', -3600, 'allowed'],
    ['completionTime', 0, 'allowed'],
    ['completionTime', 10, 'allowed'],
    ['completionTime', 11, 'refused'],
    ['completionTime', -10, 'allowed'],
    ['completionTime', -11, 'refused'],
    ['expectedFinishTime', 86_400, 'allowed'],
    ['expectedFinishTime', 0, 'allowed'],
    ['expectedFinishTime', -10, 'allowed'],
    ['expectedFinishTime', -11, 'refused'],
  ];
  for (const [field, seconds, expected] of cases) {
    it(`an entry ${expected === 'allowed' ? 'may' : 'may not'} have a ${field} ${seconds} s from the present second`, () => {
      assert.equal(decideTimes(withEntry({}), withEntry({ [field]: at(seconds) }), NOW).kind, expected);
    });
  }

  it('the times that an interceptor sets are refused with the object, the interceptor, the field, the value and the present time', () => {
    assert.equal(
      refusal(withEntry({}), withEntry({ startTime: at(90), heartbeatTime: at(0) })),
      'EvictionRequest shop/u-1: status.interceptors[actor-a.example.com].startTime was set to 2026-05-01T12:01:30Z, ' +
        'which is 90 s in the future: more than the 10 s allowed for time skew; it is now 2026-05-01T12:00:00Z',
    );
  });

  it('all wrong times are named when several are wrong', () => {
    const words = refusal(withEntry({}), withEntry({ startTime: at(-60), completionTime: at(60) }));
    assert.match(words, /\.startTime was set to \S+, which is 61 s in the past/);
    assert.match(words, /\.completionTime was set to \S+, which is 60 s in the future/);
  });

  it('the times that an interceptor sets are not judged again when they stay, whatever they are', () => {
    const entry = {
      startTime: at(-7200),
      heartbeatTime: at(900),
      expectedFinishTime: at(-60),
      completionTime: at(900),
    };
    assert.equal(refusal(withEntry(entry), withEntry({ ...entry, message: 'another' })), '');
    const elsewhere = { ...entry, startTime: '2026-05-01T12:00:00.000+02:00' };
    assert.equal(refusal(withEntry(entry), withEntry(elsewhere)), '', 'the same moment in another time zone');
  });

  it('the times that an interceptor sets are judged when the entry, or the whole status, is new', () => {
    assert.match(refusal(requestOf(undefined), withEntry({ startTime: at(60) })), /startTime/);
    assert.match(refusal(requestOf({ interceptors: [] }), withEntry({ startTime: at(60) })), /startTime/);
  });

  it('the times that an interceptor sets are judged by the entry of the same name and not by the place in the list', () => {
    const [a, b] = [
      { name: A, startTime: at(-7200) },
      { name: B, startTime: at(-3600) },
    ];
    assert.equal(refusal(requestOf({ interceptors: [a, b] }), requestOf({ interceptors: [b, a] })), '');
  });

  it('the times that an interceptor sets are refused when they are no times', () => {
    assert.match(refusal(withEntry({}), withEntry({ heartbeatTime: 'soon' })), /soon, which cannot be read as a time/);
  });

  it('the times that an interceptor sets are allowed to a clock that is 9.9 s behind although its time is rounded down', () => {
    const now = Date.parse('2026-05-01T12:00:10.850Z');
    assert.equal(refusal(withEntry({}), withEntry({ startTime: '2026-05-01T12:00:00Z' }), now), '');
  });
});

describe('the advance of activeInterceptors', () => {
  const since = (activated: string, entry: Omit<InterceptorStatus, 'name'> = {}): EvictionRequest =>
    requestOf({
      conditions: progressingSince(activated),
      activeInterceptors: [A],
      interceptors: [{ name: A, message: '', ...entry }, { name: B }],
    });
  const advanced = (old: EvictionRequest, status: EvictionRequestStatus = {}): EvictionRequest =>
    requestOf({ ...old.status, activeInterceptors: [B], processedInterceptors: [A], ...status });

  it('the advance is refused while the interceptor has neither completed nor been silent for 20 minutes', () => {
    const old = since(at(-3600), { startTime: at(-3600), heartbeatTime: at(-60) });
    assert.equal(
      refusal(old, advanced(old)),
      'EvictionRequest shop/u-1: status.activeInterceptors was advanced past actor-a.example.com, which has no ' +
        'completionTime and whose heartbeat deadline is 2026-05-01T12:19:00Z, 20 minutes after it was activated or ' +
        'last gave a sign of life at 2026-05-01T11:59:00Z; it is now 2026-05-01T12:00:00Z',
    );
  });

  it('the advance is allowed when the interceptor has completed', () => {
    const old = since(at(-60), { heartbeatTime: at(-30), completionTime: at(0) });
    assert.equal(refusal(old, advanced(old)), '');
  });

  it('the advance is refused when the same write completes the interceptor that it passes over', () => {
    const old = since(at(-60), { heartbeatTime: at(-30) });
    const interceptors = [{ name: A, message: '', heartbeatTime: at(-30), completionTime: at(0) }, { name: B }];
    assert.match(refusal(old, advanced(old, { interceptors })), /advanced past actor-a/);
  });

  it('the advance is refused when the interceptor has completed in the future only, and a heartbeat from there does not keep the turn', () => {
    const old = since(at(-60), { completionTime: at(3600) });
    assert.match(refusal(old, advanced(old)), /advanced past actor-a/);
    const held = since(at(-1200), { heartbeatTime: at(3600) });
    assert.equal(refusal(held, advanced(held)), '');
  });

  it('the silence counts from the heartbeat, else from the activation, else from the creation, with 10 s for the controller', () => {
    const beat = (seconds: number): EvictionRequest => since(at(-7200), { heartbeatTime: at(seconds) });
    const activated = (seconds: number): EvictionRequest => since(at(seconds));
    const created = (seconds: number): EvictionRequest =>
      requestOf({ activeInterceptors: [A], interceptors: [{ name: A }] }, at(seconds));
    for (const make of [beat, activated, created]) {
      assert.match(refusal(make(-1189), advanced(make(-1189))), /advanced past/, make.name);
      assert.equal(refusal(make(-1190), advanced(make(-1190))), '', make.name);
    }
  });

  it('the silence counts from the activation when the heartbeat is older', () => {
    const old = since(at(-60), { heartbeatTime: at(-7200) });
    assert.match(refusal(old, advanced(old)), /last gave a sign of life at 2026-05-01T11:59:00Z/);
  });

  it('the advance is judged too when no interceptor is active afterwards, and when the status is removed', () => {
    const old = since(at(-60));
    assert.match(refusal(old, advanced(old, { activeInterceptors: [] })), /advanced past/);
    assert.match(refusal(old, requestOf(undefined)), /advanced past/);
  });

  it('the advance is allowed at the end of the request only', () => {
    const old = since(at(-60));
    for (const type of ['Evicted', 'Canceled']) {
      assert.equal(refusal(old, advanced(old, { activeInterceptors: [], conditions: ended(type, 'True') })), '', type);
      assert.match(refusal(old, advanced(old, { conditions: ended(type, 'False') })), /advanced past/, type);
    }
    assert.match(refusal(old, advanced(old, { conditions: ended('Drained', 'True') })), /advanced past/);
  });

  it('no advance is seen when the first interceptor is activated or nothing changes', () => {
    assert.equal(refusal(requestOf({}), requestOf({ activeInterceptors: [A] })), '');
    const old = since(at(-60));
    assert.equal(refusal(old, old), '');
  });

  it('the advance is allowed where no time is known at all', () => {
    const old: EvictionRequest = { ...requestOf({ activeInterceptors: [A] }), metadata: { name: 'u-1' } };
    assert.equal(refusal(old, { ...old, status: { activeInterceptors: [B] } }), '');
  });
});

describe('an entry that the controller reads', () => {
  it('an entry loses the times that lie more than 10 s in the future, but not its estimate', () => {
    const future = at(3600);
    const entry = { name: A, message: 'm', expectedFinishTime: future };
    const times = { startTime: future, heartbeatTime: future, completionTime: future };
    assert.deepEqual(trustedEntry({ ...entry, ...times }, NOW), entry);
    assert.deepEqual(trustedEntry({ ...entry, ...times }, NOW + 60 * MINUTE), { ...entry, ...times });
    const skewed = { ...entry, startTime: at(10), heartbeatTime: at(11), completionTime: at(-60) };
    const { heartbeatTime: _, ...rest } = skewed;
    assert.deepEqual(trustedEntry(skewed, NOW), rest);
  });
});
