import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AGENT_STATUS_ANNOTATION, CORDONED_ANNOTATION, NODE_NOTE_ANNOTATION } from '../../../../src/api/names.ts';
import { commonVersion, countStates, fleetNode, isSameBuild } from '../../../../src/show/fleet/node-state.ts';
import type { ListedNode } from '../../../../src/api/pod.ts';
import { type Presence, presenceText } from '../../../../src/decide/presence/presence.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { presenceAt } from '../../../support/agent/presence.ts';

const NOW = Date.UTC(2026, 0, 2);
const HOUR = 3_600_000;
const NOTED = { name: 'upgrade', uid: 'u', stage: 'Drain', reason: 'kernel update' };
const NOTE = JSON.stringify({ maintenances: [NOTED] });
const LATE = JSON.stringify({ maintenances: [{ ...NOTED, deadline: [rfc3339(NOW - 1000), ''] }] });

function nodeOf(
  agent: Partial<Presence> | string | undefined,
  more: { status?: string; ageMs?: number; by?: string; note?: string; labels?: Record<string, string> } = {},
): ListedNode {
  const at = rfc3339(NOW - (more.ageMs ?? 0));
  const text = typeof agent === 'object' ? presenceText(presenceAt(rfc3339(NOW), agent), at) : agent;
  const annotations = {
    ...(text === undefined ? {} : { [AGENT_STATUS_ANNOTATION]: text }),
    ...(more.by === undefined ? {} : { [CORDONED_ANNOTATION]: more.by }),
    ...(more.note === undefined ? {} : { [NODE_NOTE_ANNOTATION]: more.note }),
  };
  return {
    metadata: { name: 'n', annotations, ...(more.labels === undefined ? {} : { labels: more.labels }) },
    nodeStatus: more.status ?? 'Ready',
  };
}

/** A node with these labels, without an agent. */
const labelled = (labels: Record<string, string>): ListedNode => nodeOf(undefined, { labels });

describe('the state of a node in the fleet view', () => {
  const cases: readonly [string, ListedNode, RegExp][] = [
    ['a check that warns', nodeOf({ doctor: 'warn' }), /^guarded: .*warns/],
    ['checks that have not run', nodeOf({ doctor: 'unknown' }), /^guarded: $/],
    [
      'checks that could not be run',
      nodeOf({ doctor: 'unknown' }, { ageMs: 11 * 60_000 }),
      /^guarded: its checks could not be run for 11m/,
    ],
    ['a check that fails, of an older agent', nodeOf({ doctor: 'fail' }), /^unguarded: .*a check fails: run .*doctor/],
    [
      'a check that fails',
      nodeOf({ doctor: 'fail', checks: ['kubelet shutdown'] }),
      /^unguarded: the check fails: kubelet shutdown; "nodemaint doctor"/,
    ],
    [
      'checks that fail',
      nodeOf({ doctor: 'fail', checks: ['lock delay', 'kubelet shutdown'] }),
      /^unguarded: the checks fail: lock delay, kubelet shutdown;/,
    ],
    ['a check that warns', nodeOf({ doctor: 'warn', checks: ['runtime'] }), /^guarded: the check warns: runtime;/],
    ['Windows', labelled({ 'kubernetes.io/os': 'windows' }), /^exempt: no agent runs on windows$/],
    [
      'Fargate',
      labelled({ 'kubernetes.io/os': 'linux', 'eks.amazonaws.com/compute-type': 'fargate' }),
      /^exempt: .*Fargate/,
    ],
    ['a virtual kubelet', labelled({ type: 'virtual-kubelet' }), /^exempt: .*virtual kubelet/],
    [
      'a node that is to have no agent',
      labelled({ 'nodemaintenance.x-k8s.io/without-agent': 'true' }),
      /^exempt: .*without-agent/,
    ],
    [
      'an agent that fails where none was wanted',
      nodeOf({ lock: 'none' }, { labels: { 'nodemaintenance.x-k8s.io/without-agent': 'true' } }),
      /^unguarded: .*configured/,
    ],
    ['a text of another program', nodeOf('hello'), /^unguarded: .*cannot be read/],
    ['an agent that was stopped', nodeOf({ phase: 'stopped' }), /^unguarded: .*stopped at 2026/],
    ['a report that is late by less than a quarter of an hour', nodeOf({}, { ageMs: 1.2 * HOUR }), /^guarded: $/],
    [
      'a report that is overdue',
      nodeOf({}, { ageMs: 3 * HOUR }),
      /^unguarded: .*last reported 3h0m ago, although the node is Ready/,
    ],
    ['a node that is away', nodeOf({}, { ageMs: 3 * HOUR, status: 'NotReady' }), /^unguarded: .*the node is not Ready/],
    ['another version', nodeOf({ version: '0.0.9' }), /^outdated: .*0\.0\.9; the cluster has 0\.1\.0/],
    [
      'a machine that is down',
      nodeOf({ phase: 'released', reason: 'x' }, { ageMs: 9 * HOUR, status: 'NotReady' }),
      /^going-down: .*have left/,
    ],
    [
      'a maintenance of a person',
      nodeOf({}, { by: 'upgrade', status: 'Ready,SchedulingDisabled' }),
      /^going-down: nodemaintenance\/upgrade$/,
    ],
    [
      'a maintenance that the controller has noted',
      nodeOf({}, { by: 'upgrade', note: NOTE }),
      /^going-down: nodemaintenance\/upgrade, Drain: kernel update$/,
    ],
    [
      'a deadline that is over',
      nodeOf({}, { by: 'upgrade', note: LATE }),
      /^going-down: .*Drain, deadline 2026-01-01T23:59:59Z has passed:/,
    ],
    [
      'a note that somebody else has written',
      nodeOf({}, { by: 'upgrade', note: '{"maintenances":[7]}' }),
      /^going-down: nodemaintenance\/upgrade$/,
    ],
  ];
  for (const [what, node, expected] of cases) {
    it(`${what} makes a node ${/^\^([\w-]+)/.exec(expected.source)?.[1]}`, () => {
      const { state, reason } = fleetNode(node, '0.1.0', NOW);
      assert.match(`${state}: ${reason}`, expected);
    });
  }

  it('the version of a fleet is the one that more than half of its agents have', () => {
    assert.equal(commonVersion([]), '');
    assert.equal(commonVersion(['1.0.0']), '1.0.0');
    assert.equal(commonVersion(['0.1.0', '0.1.0', '99.0.0']), '0.1.0');
    assert.equal(commonVersion(['0.1.0', '0.1.0', '0.2.0', '0.2.0']), '');
    assert.equal(commonVersion(['__proto__', '__proto__', 'constructor']), '__proto__');
  });

  it('states are counted', () => {
    const nodes = [nodeOf({}), nodeOf({}), nodeOf(undefined)].map((node) => fleetNode(node, '', NOW));
    assert.deepEqual(countStates(nodes), { guarded: 2, unguarded: 1 });
  });
});

describe('two builds of one version', () => {
  it('they are told apart by their commits, where both say one', () => {
    assert.equal(isSameBuild('0.2.0+aaa', '0.2.0+bbb'), false);
    assert.equal(isSameBuild('0.2.0+aaa', '0.2.0+aaa-dirty'), false);
    assert.equal(isSameBuild('0.2.0+aaa', '0.2.0+aaa'), true);
    assert.equal(isSameBuild('0.2.0', '0.2.0+bbb'), true);
    assert.equal(isSameBuild('0.1.0', '0.2.0+bbb'), false);
  });
});
