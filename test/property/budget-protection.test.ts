import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Node, Pod } from '../../src/api/pod.ts';
import { couldTake } from '../../src/decide/disruption-budget/placement.ts';
import { judgeProtection } from '../../src/decide/disruption-budget/protection.ts';
import {
  NODE_HOLD_MS,
  type NodeFacts,
  nodesThatStay,
  observeNodes,
  type SeenNodes,
} from '../../src/decide/disruption-budget/staying-nodes.ts';
import { rfc3339 } from '../../src/decide/time.ts';

const T0 = Date.parse('2026-11-23T18:00:00Z');
const LOOK_MS = 5_000;
const NAMES = ['n1', 'n2', 'n3'] as const;

/** What becomes of a node for some looks. */
const state = fc.record({
  looks: fc.integer({ min: 1, max: 30 }),
  there: fc.boolean(),
  goesDown: fc.boolean(),
  ready: fc.boolean(),
  tainted: fc.boolean(),
  cordoned: fc.boolean(),
});
type State = typeof state extends fc.Arbitrary<infer T> ? T : never;
const history = fc.array(state, { minLength: 1, maxLength: 6 });
const podOf = fc.record({ on: fc.constantFrom(undefined, ...NAMES), tolerates: fc.boolean() }).map(
  ({ on, tolerates }): Pod => ({
    metadata: { name: 'web' },
    spec: { ...(on === undefined ? {} : { nodeName: on }), tolerations: tolerates ? [{ operator: 'Exists' }] : [] },
  }),
);

/** The state of a node at each look. */
function spread(states: readonly State[]): readonly State[] {
  return states.flatMap((each) => Array.from({ length: each.looks }, () => each));
}

function nodeOf(name: string, { ready, tainted, cordoned }: State, sinceMs: number): Node {
  const lastTransitionTime = rfc3339(T0 + sinceMs);
  return {
    metadata: { name, creationTimestamp: rfc3339(T0 - 86_400_000) },
    spec: { unschedulable: cordoned, taints: tainted ? [{ key: 'gpu', effect: 'NoSchedule' }] : [] },
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown', lastTransitionTime }] },
  };
}

/** The nodes at each look, each with its condition as old as it really is. */
function looks(histories: readonly (readonly State[])[]): readonly (readonly NodeFacts[])[] {
  const all = histories.map(spread);
  const since = NAMES.map(() => -86_400_000);
  return Array.from({ length: Math.max(...all.map(({ length }) => length)) }, (_, look) =>
    NAMES.flatMap((name, at): NodeFacts[] => {
      const own = all[at] ?? [];
      const now = own[Math.min(look, own.length - 1)];
      const before = own[Math.min(look, own.length) - 1];
      if (now === undefined || !now.there) return [];
      if (before !== undefined && before.ready !== now.ready) since[at] = look * LOOK_MS;
      return [{ node: nodeOf(name, now, since[at] ?? 0), goesDown: now.goesDown }];
    }),
  );
}

describe('budgets while machines go down, in any history of nodes', () => {
  it('a budget is asked as long as a node that is Ready and does not go down runs one of its pods or could take one', () => {
    let notAsked = 0;
    fc.assert(
      fc.property(fc.tuple(history, history, history), fc.array(podOf, { minLength: 1 }), (histories, pods) => {
        let seen: SeenNodes | undefined;
        for (const [look, facts] of looks(histories).entries()) {
          const now = look * LOOK_MS;
          seen = observeNodes(seen, facts, now);
          const verdict = judgeProtection(pods, nodesThatStay(seen, now, T0 + now));
          const helps = facts.filter(({ node, goesDown }) => {
            const isReady = node.status?.conditions?.[0]?.status === 'True';
            const runs = pods.some(({ spec }) => spec.nodeName === node.metadata.name);
            return isReady && !goesDown && (runs || pods.some((pod) => couldTake(node, pod)));
          });
          if (helps.length > 0) assert.equal(verdict.kind, 'protects', `at look ${look}`);
          if (now < NODE_HOLD_MS) assert.equal(verdict.kind, 'protects', 'nothing is decided in the first minute');
          if (verdict.kind === 'protects-nothing') notAsked += 1;
        }
      }),
    );
    assert.ok(notAsked > 0, 'some budgets are not asked');
  });
});
