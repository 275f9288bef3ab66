import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../../src/api/pod.ts';
import {
  NODE_HOLD_MS,
  type NodeFacts,
  nodesThatStay,
  observeNodes,
  type SeenNodes,
} from '../../../../src/decide/disruption-budget/staying-nodes.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';

const T0 = Date.parse('2026-11-23T18:00:00Z');
const MINUTE = 60_000;
const LOOK_MS = 5_000;

interface Given {
  readonly goesDown?: boolean;
  readonly ready?: 'True' | 'False' | 'Unknown';
  /** When its Ready condition changed last, in milliseconds after T0. */
  readonly readyAt?: number;
  /** When it registered, in milliseconds after T0. */
  readonly created?: number;
  readonly spec?: Node['spec'];
}

function facts(name: string, given: Given = {}): NodeFacts {
  const { goesDown = false, ready = 'True', readyAt = -600 * MINUTE, created = -600 * MINUTE, spec = {} } = given;
  const metadata = { name, creationTimestamp: rfc3339(T0 + created) };
  const conditions = [{ type: 'Ready', status: ready, lastTransitionTime: rfc3339(T0 + readyAt) }] as const;
  return { node: { metadata, spec, status: { conditions } }, goesDown };
}

/** What is known at `untilMs` of nodes that are looked at every five seconds from 0 on. */
function lookAt(
  untilMs: number,
  nodesAt: (ms: number) => readonly NodeFacts[],
  looksAt = (_ms: number) => true,
): string {
  let seen: SeenNodes | undefined;
  for (let ms = 0; ms <= untilMs; ms += LOOK_MS) if (looksAt(ms)) seen = observeNodes(seen, nodesAt(ms), ms);
  assert.ok(seen !== undefined);
  return nodesThatStay(seen, untilMs, T0 + untilMs)
    .map(({ kind, name }) => `${name} ${kind}`)
    .join(', ');
}

const DOWN = facts('n1', { goesDown: true });

interface Case {
  readonly title: string;
  readonly nodes: (ms: number) => readonly NodeFacts[];
  readonly at?: number;
  readonly looksAt?: (ms: number) => boolean;
  readonly stays: string;
}

const CASES: readonly Case[] = [
  { title: 'the only node goes down', nodes: () => [DOWN], stays: '' },
  { title: 'the only node goes down, since a moment ago', nodes: () => [DOWN], at: 55_000, stays: 'any node unknown' },
  {
    title: 'another machine that goes down is off since a moment ago',
    nodes: (ms) => [DOWN, facts('n2', { goesDown: true, ready: ms >= 50_000 ? 'Unknown' : 'True', readyAt: 50_000 })],
    stays: '',
  },
  { title: 'another node stays', nodes: () => [DOWN, facts('n2')], stays: 'n2 stays' },
  {
    title: 'another node is only cordoned',
    nodes: () => [DOWN, facts('n2', { spec: { unschedulable: true } })],
    stays: 'n2 stays',
  },
  {
    title: 'the agent of the other machine speaks half a minute later',
    nodes: (ms) => [DOWN, facts('n2', { goesDown: ms >= 30_000 })],
    stays: 'n2 unknown',
  },
  {
    title: 'the agent of the other machine spoke a minute ago',
    nodes: (ms) => [DOWN, facts('n2', { goesDown: ms >= 30_000 })],
    at: 90_000,
    stays: '',
  },
  {
    title: 'a node comes late',
    nodes: (ms) => [DOWN, ...(ms >= 60_000 ? [facts('n2', { created: 60_000 })] : [])],
    stays: 'n2 unknown',
  },
  {
    title: 'a node that has joined two minutes ago may still lose its first taints',
    nodes: () => [DOWN, facts('n2', { created: -2 * MINUTE })],
    stays: 'n2 unknown',
  },
  {
    title: 'another machine crashed ten minutes ago',
    nodes: () => [DOWN, facts('n2', { ready: 'Unknown', readyAt: -10 * MINUTE })],
    stays: '',
  },
  {
    title: 'the kubelet of another machine has been silent for two minutes',
    nodes: () => [DOWN, facts('n2', { ready: 'Unknown', readyAt: -2 * MINUTE })],
    stays: 'n2 unknown',
  },
  {
    title: 'the time of the condition is of a clock that is an hour ahead',
    nodes: () => [DOWN, facts('n2', { ready: 'Unknown', readyAt: 60 * MINUTE })],
    at: 6 * MINUTE,
    stays: '',
  },
  {
    title: 'all nodes are Unknown for a moment after the API server was away',
    nodes: (ms) => [DOWN, facts('n2', { ready: ms >= 60_000 && ms < 80_000 ? 'Unknown' : 'True', readyAt: ms })],
    at: 85_000,
    stays: 'n2 unknown',
  },
  {
    title: 'nothing was seen for a minute, and what was so before does not count',
    nodes: () => [DOWN],
    at: 3 * MINUTE,
    looksAt: (ms) => ms < 1 * MINUTE || ms > 2 * MINUTE + 30_000,
    stays: 'any node unknown',
  },
  {
    title: 'another node was deleted, and may register again',
    nodes: (ms) => [DOWN, ...(ms < 60_000 ? [facts('n2')] : [])],
    at: 90_000,
    stays: 'n2 unknown',
  },
  {
    title: 'another node was deleted a minute ago',
    nodes: (ms) => [DOWN, ...(ms < 60_000 ? [facts('n2')] : [])],
    at: 125_000,
    stays: '',
  },
  {
    title: 'a taint was taken away a moment ago',
    nodes: (ms) => [DOWN, facts('n2', { spec: ms < 50_000 ? { taints: [{ key: 'a', effect: 'NoSchedule' }] } : {} })],
    stays: 'n2 unknown',
  },
];

describe('the nodes that stay while others go down', () => {
  for (const { title, nodes, at = NODE_HOLD_MS, looksAt, stays } of CASES) {
    it(title, () => {
      assert.equal(lookAt(at, nodes, looksAt), stays);
    });
  }
});
