import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ClusterFacts, examineCluster } from '../../../../src/show/checks/cluster-checks.ts';
import type { FleetNode } from '../../../../src/show/fleet/node-state.ts';
import { known, nodeOf, RIGHT } from '../../../support/views/checks.ts';
import { NOW } from '../../../support/views/drain.ts';

type Facts<K extends keyof ClusterFacts> = Partial<Extract<ClusterFacts[K], { kind: 'known' }>['value']>;
type Change = Partial<ClusterFacts>;
const policies = (more: Facts<'policies'>): Change => {
  return { policies: known({ missing: [], changed: [], refusesPods: false, ...more }) };
};
const rights = (more: Facts<'rights'>): Change => ({
  rights: known({ missing: [], elsewhere: [], isReleaseOff: false, ...more }),
});
const webhook = (more: Facts<'webhook'>): Change => {
  return { webhook: known({ isConfigured: true, caUntil: NOW + 1, endpoints: 1, ...more }) };
};
const controller = (more: Facts<'controller'>): Change => {
  return { controller: known({ state: 'alive', holder: 'c', version: '', ...more }) };
};
const nodes = (...of: readonly FleetNode[]): Change => ({ nodes: known(of) });
const resource = (state: 'missing' | 'older', ...fields: readonly string[]): Change => {
  return { resources: known([{ crd: 'x', state, fields }]) };
};

/** The result of the only check that is not ok, with its message. */
function finding(change: Partial<ClusterFacts>): string {
  const wrong = examineCluster({ ...RIGHT, ...change }).filter(({ result }) => result !== 'ok');
  assert.equal(wrong.length, 1, JSON.stringify(wrong));
  const [check] = wrong;
  assert.notEqual(check?.fix, '');
  return `${check?.result} ${check?.name}: ${check?.message}`;
}

describe('the checks of a cluster', () => {
  it('a cluster that is right has no finding', () => {
    for (const { result, fix, name } of examineCluster(RIGHT)) assert.deepEqual([result, fix], ['ok', ''], name);
  });

  it('a release account that is left out on purpose is a note, with what is lost', () => {
    const check = examineCluster({ ...RIGHT, ...rights({ isReleaseOff: true }) }).find(({ name }) => name === 'rights');
    assert.equal(check?.result, 'ok');
    assert.match(check.message, /nodemaint-agent-release is left out: gated DaemonSet pods wait for a controller$/);
  });

  it('nodes that are to have no agent are left out, and counted', () => {
    const some = nodes(nodeOf('a', 'guarded'), nodeOf('w', 'exempt'));
    const agents = examineCluster({ ...RIGHT, ...some }).find(({ name }) => name === 'agents');
    const found = [agents?.result, agents?.message];
    assert.deepEqual(found, ['ok', '1 node has an agent; 1 can have none, or are to have none']);
    const text = finding(nodes(nodeOf('a', 'unguarded'), nodeOf('b', 'guarded'), nodeOf('w', 'exempt')));
    assert.match(text, /^fail agents: 1 of 2 nodes are unguarded: a/);
  });

  const cases: readonly [string, Partial<ClusterFacts>, RegExp][] = [
    ['a missing resource', resource('missing'), /^fail .*x is not installed/],
    ['an older resource', resource('older', 'status.a'), /^fail .*without status\.a/],
    ['a missing policy', policies({ missing: ['p', 'the binding of q'] }), /^fail .*p, the binding of q/],
    ['a changed policy', policies({ changed: ['p'] }), /^fail policies: not as in this version, .*: p$/],
    ['a missing role', rights({ missing: ['clusterroles/a'] }), /^fail rights: missing: clusterroles\/a/],
    ['rights of another namespace', rights({ elsewhere: ['b'] }), /^fail rights: given to accounts outside of .*: b$/],
    ['no controller', controller({ state: 'missing', holder: '' }), /^fail controller: no controller has ever led/],
    ['a dead controller', controller({ state: 'dead' }), /^fail controller/],
    ['an older controller', controller({ version: '0.0.9' }), /^warn controller: c leads with version 0\.0\.9/],
    ['a webhook without endpoints', webhook({ endpoints: 0 }), /^fail webhook/],
    ['a webhook without a certificate', webhook({ caUntil: undefined }), /^fail webhook: .*caBundle/],
    ['an expired certificate', webhook({ caUntil: NOW }), /^fail webhook: .*expired/],
    [
      'objects of an earlier version',
      // All of them: they are deleted by this list.
      { leftOvers: known(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `role/${name}`)) },
      /^warn left-overs: 6 objects are of an earlier version: role\/a, role\/b, role\/c, role\/d, role\/e, role\/f$/m,
    ],
    ['an outdated agent', nodes(nodeOf('a', 'outdated')), /^warn versions of agents: .*a$/],
    [
      'what the person may not read',
      { policies: { kind: 'forbidden', why: 'no right' } },
      /^warn policies: not checked: no right/,
    ],
    [
      'what the server refuses',
      { policies: { kind: 'failed', why: 'it answered 500' } },
      /^fail policies: it answered 500/,
    ],
  ];
  for (const [what, change, expected] of cases) {
    it(`${what} is found, with a fix`, () => {
      assert.match(finding(change), expected);
    });
  }
});
