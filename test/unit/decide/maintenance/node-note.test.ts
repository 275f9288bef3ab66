import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Lease } from '../../../../src/api/lease.ts';
import { DEADLINE_ANNOTATION, DEADLINE_SINCE_ANNOTATION, NOTES_BY_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { earliestDeadline } from '../../../../src/decide/deadline/maintenance.ts';
import { DEFAULT_DRAIN_PLAN } from '../../../../src/decide/maintenance/drain-plan.ts';
import { writesNotes } from '../../../../src/decide/leader/lease.ts';
import { drainsOfNode } from '../../../../src/decide/maintenance/maintenance.ts';
import { decideSource, nodeNote, readNodeNote } from '../../../../src/decide/maintenance/node-note.ts';
import { drainOf, maintenanceOf, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const NODE = { name: 'n1', uid: 'u1' };
const STATIC = DEFAULT_DRAIN_PLAN.filter(({ podType }) => podType === 'Static');

function draining(name: string, entries: number, uid = 'u1'): NodeMaintenance {
  const nodeStatuses = [
    { nodeRef: { name: 'n2' }, drainTargets: DEFAULT_DRAIN_PLAN },
    { nodeRef: { name: 'n1', uid }, drainTargets: DEFAULT_DRAIN_PLAN.slice(0, entries) },
  ];
  return { ...drainOf(name, ['n1', 'n2'], { reason: 'firmware' }), status: { nodeStatuses } };
}

/** What the agent of the node reads of what the controller has noted. */
function noted(maintenances: readonly NodeMaintenance[]): readonly NodeMaintenance[] {
  const note = readNodeNote(nodeNote(maintenances, NODE), 'n1');
  assert.ok(note.kind === 'known');
  return note.maintenances;
}

describe('the note on a Node', () => {
  it('the note has the drains of the node with their targets for static pods, reasons and deadlines', () => {
    const [at, since] = ['2026-01-01T01:00:00Z', '2026-01-01T00:00:00Z'];
    const annotations = { [DEADLINE_ANNOTATION]: at, [DEADLINE_SINCE_ANNOTATION]: since };
    const late = draining('late', 12);
    const maintenances = noted([{ ...late, metadata: { ...late.metadata, annotations } }, draining('early', 4)]);
    assert.deepEqual(drainsOfNode(maintenances, 'n1'), [
      { maintenance: 'early', reason: 'firmware', drainTargets: [] },
      { maintenance: 'late', reason: 'firmware', drainTargets: STATIC },
    ]);
    assert.equal(earliestDeadline(maintenances)?.deadline.at, Date.parse('2026-01-01T01:00:00Z'));
  });

  it('the note has cordons, and drains that have not come to the node, but no targets of an earlier Node of its name', () => {
    const cordon = maintenanceOf({ stage: 'Cordon' }, { name: 'cordon' });
    const maintenances = noted([cordon, drainOf('fresh', ['n1']), draining('before', 12, 'u0')]);
    const stages = Object.fromEntries(maintenances.map(({ metadata, spec }) => [metadata.name, spec.stage]));
    assert.deepEqual(stages, { before: 'Drain', cordon: 'Cordon', fresh: 'Drain' });
    const drains = drainsOfNode(maintenances, 'n1').map(({ maintenance, drainTargets }) => [maintenance, drainTargets]);
    assert.deepEqual(Object.fromEntries(drains), { before: [], fresh: [] });
  });

  it("the note has nothing of maintenances that are over, or that the node's agent made", () => {
    const own = ownMaintenanceOf('n1');
    const over = [maintenanceOf({ stage: 'Complete' }), maintenanceOf({ stage: 'Idle' })];
    assert.equal(nodeNote([own, ...over], NODE), undefined);
    assert.deepEqual(readNodeNote(undefined, 'n1'), { kind: 'known', maintenances: [] });
    assert.notEqual(nodeNote([ownMaintenanceOf('n2')], NODE), undefined);
  });

  it('the note is short, whatever the maintenances are', () => {
    const many = Array.from({ length: 1_000 }, (_, at) => draining(`m${at}`, 12));
    const large = { ...draining('m', 12), spec: { ...draining('m', 12).spec, reason: 'ü'.repeat(4_096) } };
    assert.deepEqual(readNodeNote(nodeNote(many, NODE), 'n1'), { kind: 'unknown' });
    assert.equal(noted([large])[0]?.spec.reason?.length, 256);
  });

  for (const text of [
    '',
    '{',
    'null',
    '[]',
    '{}',
    '{"maintenances":{}}',
    '{"maintenances":[null]}',
    '{"maintenances":[{"name":"m"}]}',
    '{"maintenances":[{"name":"m","stage":"Idle"}]}',
    '{"maintenances":[{"name":1,"stage":"Drain"}]}',
    '{"maintenances":[{"name":"m","stage":"Drain","deadline":["x"]}]}',
    '{"maintenances":[{"name":"m","stage":"Drain","drainTargets":[{"podType":"Default","podPriority":1}]}]}',
    '{"maintenances":[{"name":"m","stage":"Drain","drainTargets":[{"podType":"Static","podPriority":"1"}]}]}',
    '{"maintenances":[{"name":"m","stage":"Drain","drainTargets":[{"podType":"Static","podPriority":1,"podSelector":{"matchLabels":{"a":1}}}]}]}',
    '{"maintenances":[{"name":"m","stage":"Drain","drainTargets":[{"podType":"Static","podPriority":1,"podSelector":{"matchExpressions":[{}]}}]}]}',
    `{"maintenances":[{"name":"${'m'.repeat(254)}","stage":"Drain"}]}`,
    `{"maintenances":[]}${' '.repeat(16_384)}`,
  ]) {
    it(`the note ${text.slice(0, 80)} says that it cannot be read`, () => {
      assert.deepEqual(readNodeNote(text, 'n1'), { kind: 'unknown' });
    });
  }
});

describe('the source of the maintenances of a node', () => {
  it('the source is the note while a controller writes it, and all maintenances as soon as none is alive', () => {
    const source = (now: 'all' | 'note' | undefined, life: 'alive' | 'dead' | 'unknown', writes = true) =>
      decideSource(now, { writesNotes: writes, life });
    assert.equal(source(undefined, 'unknown'), 'note');
    assert.equal(source('note', 'unknown'), 'note');
    assert.equal(source('note', 'dead'), 'all');
    assert.equal(source('all', 'unknown'), 'all');
    assert.equal(source('all', 'alive'), 'note');
    for (const life of ['alive', 'dead', 'unknown'] as const) assert.equal(source('note', life, false), 'all');
  });

  it('the source is the note only if the controller that has the Lease, or had it last, says so itself', () => {
    const lease = (by: string | undefined, holderIdentity?: string): Lease => ({
      metadata: { name: 'l', ...(by === undefined ? {} : { annotations: { [NOTES_BY_ANNOTATION]: by } }) },
      spec: holderIdentity === undefined ? {} : { holderIdentity },
    });
    const answers = [lease('a', 'a'), lease('a'), lease('a', 'b'), lease(undefined, 'a'), undefined].map(writesNotes);
    assert.deepEqual(answers, [true, true, false, false, false]);
  });
});
