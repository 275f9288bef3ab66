/** The judgements of the tests of whole machines: each of them can fail. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Write } from '../../chaos/audit.ts';
import type { Change, Kind } from '../../chaos/timeline.ts';
import { assertInOrder, assertNothingForced, type Told, tooFew } from '../../e2e/machines/story.ts';
import { cordonedWhileWaiting, turnWaitsOf } from '../../e2e/machines/waiting.ts';

const BEGUN_AT = 1_000;

interface PodState {
  readonly name: string;
  readonly isReady?: boolean;
  /** The grace period with which it was told to end. */
  readonly graceSec?: number;
  readonly exitCode?: number;
}

/** A history that is written change by change, each a second after the one before. */
function history(): {
  readonly told: Told;
  pod(state: PodState): void;
  other(kind: Kind, name: string, rest: object): void;
} {
  const changes: Change[] = [];
  const writes: Write[] = [];
  const add = (kind: Kind, key: string, object: Change['object']): void => {
    const revision = changes.length + 1;
    changes.push({ revision, at: BEGUN_AT + revision * 1_000, kind, key, object, deleted: false });
  };
  return {
    told: { begunAt: BEGUN_AT, changes, writes, lines: [] },
    pod: ({ name, isReady = true, graceSec, exitCode }) => {
      const deletion = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: graceSec };
      const state = exitCode === undefined ? {} : { terminated: { exitCode } };
      const own = { name, namespace: 'default', uid: name, labels: { app: 'web' } };
      const metadata = { ...own, ...(graceSec === undefined ? {} : deletion) };
      const status = {
        conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
        containerStatuses: [{ state }],
      };
      const spec = { nodeName: 'node-a', terminationGracePeriodSeconds: 30 };
      const pod = { metadata, spec, status };
      add('Pod', `default/${name}`, pod);
    },
    other: (kind, name, rest) => add(kind, name, { metadata: { name }, ...rest }),
  };
}

describe('the judgement of a machine that has gone down', () => {
  it('pods that end in the order of the plan are in order', () => {
    const lines = ['db TERM', 'web TERM', 'web END', 'db END', 'unstaged vol-0', 'logger TERM', 'logger END'];
    assertInOrder('node-a', lines);
  });

  const wrong: readonly [string, readonly string[]][] = [
    ['a DaemonSet pod that is told too early', ['web TERM', 'logger TERM', 'logger END', 'web END']],
    ['a pod that is told and does not come to its end', ['web TERM', 'logger TERM', 'logger END']],
    ['a static pod of high priority that ends first', ['high TERM', 'high END', 'low TERM', 'low END']],
  ];
  for (const [what, lines] of wrong) {
    it(`${what} is found`, () => {
      assert.throws(() => assertInOrder('node-a', lines));
    });
  }

  const SERVES = { name: 'p' };
  const TOLD = { name: 'p', graceSec: 30 };
  const ends: readonly [string, readonly PodState[], RegExp | undefined][] = [
    ['that ends by itself was not forced', [SERVES, TOLD, { ...TOLD, exitCode: 0 }], undefined],
    ['that was told with a shorter grace period is found', [{ ...TOLD, graceSec: 1 }], /has its own grace period/],
    ['that was killed is found', [SERVES, TOLD, { ...TOLD, exitCode: 137 }], /was not killed/],
    ['that never served may have been killed while it was started', [TOLD, { ...TOLD, exitCode: 137 }], undefined],
  ];
  for (const [what, states, message] of ends) {
    it(`a pod ${what}`, () => {
      const { told, pod } = history();
      for (const state of states) pod(state);
      if (message === undefined) assertNothingForced(told);
      else assert.throws(() => assertNothingForced(told), message);
    });
  }
});

describe('the judgement of a budget', () => {
  it('an application that always has one pod is within its budget', () => {
    const { told, pod } = history();
    for (const name of ['p', 'q']) pod({ name });
    pod({ name: 'p', graceSec: 30 });
    assert.deepEqual(tooFew(told), []);
  });

  it('an application without a pod that serves is found, however short that was', () => {
    const { told, pod } = history();
    pod({ name: 'p' });
    pod({ name: 'p', graceSec: 30 });
    pod({ name: 'q' });
    assert.deepEqual(tooFew(told), ['web: 0 from 2.0 s on']);
  });
});

describe('the judgement of a machine that waits for its turn', () => {
  const waits = {
    spec: { stage: 'Drain' },
    status: { conditions: [{ type: 'Drained', status: 'False', reason: 'WaitingForTurn', message: 'n2 first' }] },
  };
  const begins = { spec: { stage: 'Drain' }, status: { conditions: [] } };
  const found = (cordonedFirst: boolean): readonly string[] => {
    const { told, other } = history();
    other('Node', 'node-a', { spec: { unschedulable: cordonedFirst } });
    other('NodeMaintenance', 'shutdown-node-a-x', waits);
    for (let second = 0; second < 10; second += 1) other('Pod', `p${second}`, { spec: {} });
    other('NodeMaintenance', 'shutdown-node-a-x', begins);
    other('Node', 'node-a', { spec: { unschedulable: true } });
    return cordonedWhileWaiting(turnWaitsOf(told.changes, ['node-a']), told.changes);
  };

  it('a machine that is cordoned when its turn comes waited schedulable', () => {
    assert.deepEqual(found(false), []);
  });

  it('a machine that is cordoned while it waits is found', () => {
    assert.deepEqual(found(true), ['node-a was cordoned for 11000 ms while it waited']);
  });
});
