import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { NodeStatus } from '../../../../src/api/node-maintenance.ts';
import { NODE_NOTE_ANNOTATION } from '../../../../src/api/names.ts';
import { createNodeReconciler } from '../../../../src/controller/maintenance/nodes.ts';
import { createRefusals } from '../../../../src/controller/maintenance/refusals.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { createMemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';

it('a step of one node reads nothing of the other nodes of a large maintenance', async () => {
  const names = Array.from({ length: 200 }, (_, index) => `n-${index}`);
  const cluster = createMemoryCluster();
  for (const name of names) cluster.put('Node', { metadata: { name, uid: `uid-of-${name}` } });
  let reads = 0;
  const nodeStatuses = names.map((name): NodeStatus => {
    const drainTargets = [{ podType: 'Static', podPriority: 2_147_483_647 }] as const;
    return {
      get nodeRef() {
        reads += 1;
        return { name, uid: `uid-of-${name}` };
      },
      drainTargets,
      drainStartTime: '2026-01-01T00:00:00Z',
    };
  });
  cluster.put('Maintenance', { ...drainOf('drain', names), status: { nodeStatuses } } as ReturnType<typeof drainOf>);
  const { context } = cluster;
  for (const name of names) context.maintenances.noteNode(name);
  context.maintenances.note('drain');
  reads = 0;
  const reconcile = createNodeReconciler(
    context,
    createRefusals(context.clock, () => undefined),
  );
  await reconcile('n-7', AbortSignal.timeout(10_000));
  const note = cluster.get('Node', 'n-7')?.metadata.annotations?.[NODE_NOTE_ANNOTATION] ?? '';
  assert.match(note, /"drainTargets":\[\{"podPriority":\d+,"podType":"Static"/);
  assert.ok(reads < 20, `${reads} reads`);
});
