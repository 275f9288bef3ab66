import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { DEADLINE_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Node } from '../../../../src/api/pod.ts';
import { MaintenanceNodes } from '../../../../src/controller/cache/maintenance-nodes.ts';
import { begunNode } from '../../../../src/decide/maintenance/recorded-node.ts';
import { drainsOfNode } from '../../../../src/decide/maintenance/maintenance.ts';
import { cacheOfMap } from '../../../support/maintenance/indexes.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

const NODES = ['one', 'two'];
const TARGETS = [{ podType: 'Default', podPriority: 0 }] as const;

/** The nodes of the maintenance `m` on these nodes, and what notes how it is from then on: it returns the affected nodes. */
function maintenanceOn(names: readonly string[]): {
  readonly maintenanceNodes: MaintenanceNodes;
  readonly maintenances: ReadonlyMap<string, NodeMaintenance>;
  readonly note: (maintenance?: NodeMaintenance) => readonly string[];
} {
  const maintenances = new Map<string, NodeMaintenance>();
  const nodes = new Map(names.map((name): [string, Node] => [name, { metadata: { name } }]));
  const maintenanceNodes = new MaintenanceNodes({ maintenances: cacheOfMap(maintenances), nodes: cacheOfMap(nodes) });
  const note = (maintenance?: NodeMaintenance): readonly string[] => {
    if (maintenance === undefined) maintenances.delete('m');
    else maintenances.set('m', maintenance);
    return maintenanceNodes.note('m').affected;
  };
  return { maintenanceNodes, maintenances, note };
}

describe('what a change of a maintenance concerns', () => {
  const first = { nodeRef: { name: 'one' }, drainTargets: TARGETS, podsEvacuating: 5 };
  const second = { nodeRef: { name: 'two' }, drainTargets: TARGETS };
  const drain: NodeMaintenance = { ...drainOf('m', NODES), status: { nodeStatuses: [first, second] } };
  const annotations = { [DEADLINE_ANNOTATION]: 'x' };
  const long = 'x'.repeat(256);
  const of = (spec: object): NodeMaintenance => drainOf('m', NODES, spec);
  const changes: readonly (readonly [string, NodeMaintenance, NodeMaintenance | undefined, readonly string[]])[] = [
    [
      'nothing where only a count changes',
      drain,
      { ...drain, status: { nodeStatuses: [{ ...first, podsEvacuating: 4 }, second] } },
      [],
    ],
    [
      'the node that has no targets now',
      drain,
      { ...drain, status: { nodeStatuses: [{ ...first, drainTargets: [] }, second] } },
      ['one'],
    ],
    ['all nodes where its stage changes', drain, { ...drain, spec: { ...drain.spec, stage: 'Complete' } }, NODES],
    ['all nodes where its deadline changes', drain, { ...drain, metadata: { name: 'm', annotations } }, NODES],
    ['the node that it selects no longer', of({}), drainOf('m', ['two']), ['one']],
    ['all nodes where it is gone', drain, undefined, NODES],
    ['all nodes, whose notes have it, where its reason changes', of({ reason: 'a' }), of({ reason: 'b' }), NODES],
    [
      'nothing where only a part of its reason changes that is not noted',
      of({ reason: long }),
      of({ reason: `${long}more` }),
      [],
    ],
    [
      'all nodes where it is deleted before it began, although a finalizer keeps it: it plans them no longer',
      of({ stage: 'Idle' }),
      {
        ...of({ stage: 'Idle' }),
        metadata: { name: 'm', deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x'] },
      },
      NODES,
    ],
  ];
  for (const [what, before, after, affected] of changes) {
    it(`a change of a maintenance concerns ${what}`, () => {
      const { note } = maintenanceOn(NODES);
      assert.deepEqual(note(before), NODES);
      assert.deepEqual(note(before), []);
      assert.deepEqual(note(after), affected);
    });
  }
});

it('of a large maintenance, the node is recorded and has begun where it is so in the whole status, and nowhere else', () => {
  const names = Array.from({ length: 10 }, (_, index) => `n-${index}`);
  const nodeStatuses = names.map((name, index) => {
    const begin = index === 0 ? {} : { drainStartTime: '2026-01-01T00:00:00Z' };
    return { nodeRef: { name }, drainTargets: TARGETS, ...begin };
  });
  const whole: NodeMaintenance = { ...drainOf('m', ['n-1']), status: { nodeStatuses } };
  const { maintenanceNodes, note } = maintenanceOn([]);
  note(whole);
  assert.deepEqual([[...maintenanceNodes.on('n-5')], [...maintenanceNodes.by('n-5')]], [['m'], []]);
  for (const name of [...names, 'other']) {
    const seen = maintenanceNodes.asSeenFrom(name, whole);
    assert.ok((seen.status?.nodeStatuses?.length ?? 0) <= 1);
    assert.deepEqual(drainsOfNode([seen], name), drainsOfNode([whole], name));
    assert.deepEqual(begunNode(seen.status, { name }), begunNode(whole.status, { name }));
  }
});

it('a node that came is compared with the maintenances that may select it, and with no others', () => {
  const { maintenanceNodes, maintenances, note } = maintenanceOn(['one']);
  note(drainOf('m', ['two']));
  const { mock: read } = mock.method(maintenances, 'get');
  assert.deepEqual([maintenanceNodes.noteNode('one'), read.callCount()], [[], 0]);
});
