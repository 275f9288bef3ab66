import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** Whether a step of a loop is under way. */
async function isAtWork({ context }: MemoryCluster): Promise<boolean> {
  const text = await context.metrics.text();
  const found = [...text.matchAll(/^workqueue_unfinished_work_seconds\{[^}]*\} (\S+)$/gm)];
  assert.ok(found.length > 0);
  return found.some(([, seconds]) => Number(seconds) > 0);
}

describe('the work of the leader', () => {
  it('the work of the leader rests while one of its copies does not follow the server', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    for (const kind of ['Pod', 'Node', 'Request', 'Budget'] as const) {
      cluster.behind.add(kind);
      // What had begun before goes on to its end, however slow the machine is.
      await waitFor('rest', async () => {
        const earlier = cluster.requests.length;
        await delay(300);
        return cluster.requests.length === earlier && !(await isAtWork(cluster));
      });
      const before = cluster.requests.length;
      cluster.put('Maintenance', drainOf(`late-${kind.toLowerCase()}`, ['one']));
      await delay(150);
      assert.equal(cluster.requests.length, before, kind);
      cluster.behind.delete(kind);
      await waitFor('the rest', () => cluster.requests.length > before, { timeoutMs: 3_000 });
    }
    const isDrained = (): boolean =>
      cluster.get('Maintenance', 'm')?.status?.conditions?.some(({ status }) => status === 'True') === true;
    await waitFor('the drain', isDrained, { timeoutMs: 3_000 });
  });

  it('the work of the leader does not take up maintenances that are complete when another one or a node changes', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    for (let index = 0; index < 50; index += 1) {
      cluster.put('Maintenance', drainOf(`over-${index}`, ['one'], { stage: 'Complete' }));
    }
    cluster.put('Maintenance', drainOf('m', ['one'], { stage: 'Cordon' }));
    await using _ = cluster.lead();
    const added = async (): Promise<number> => {
      const text = await cluster.context.metrics.text();
      return Number(/workqueue_adds_total\{name="nodemaintenances"\} (\d+)/.exec(text)?.[1] ?? 0);
    };
    // A busy machine makes pauses in the first work, too.
    await waitFor('rest', async () => {
      const before = await added();
      await delay(1_500);
      return before > 0 && (await added()) === before;
    });
    const before = await added();
    const [node, maintenance] = [cluster.get('Node', 'one'), cluster.get('Maintenance', 'm')];
    assert.ok(node !== undefined && maintenance !== undefined);
    cluster.put('Node', node);
    cluster.put('Maintenance', maintenance);
    await delay(300);
    const more = (await added()) - before;
    assert.ok(more > 0 && more < 10, `${more} were added`);
  });
});
