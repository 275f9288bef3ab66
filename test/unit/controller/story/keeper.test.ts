import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { storyLoops } from '../../../../src/controller/story/keeper.ts';
import type { KubeClient, KubeRequest } from '../../../../src/kube/client.ts';
import { readKeptDocument } from '../../../../src/kube/maintenance/story-document.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';

const START = new Date().toISOString();

interface StoredMap {
  readonly metadata: { readonly name: string };
  readonly data: Record<string, string>;
}

/** The ConfigMaps of a namespace, in memory. */
function configMaps(): {
  readonly client: KubeClient;
  readonly stored: Map<string, StoredMap>;
  readonly sent: string[];
} {
  const stored = new Map<string, StoredMap>();
  const sent: string[] = [];
  const answer = ({ method, path, body }: KubeRequest): { status: number; body: unknown } => {
    const name = /\/configmaps\/([^?]+)/.exec(path)?.[1];
    sent.push(`${method} ${name ?? 'list'}`);
    if (name === undefined) return { status: 200, body: { items: [...stored.values()] } };
    if (method === 'DELETE') return { status: stored.delete(name) ? 200 : 404, body: {} };
    if (method === 'PATCH') {
      const { metadata, ...rest } = body as StoredMap;
      stored.set(name, { ...rest, metadata: { creationTimestamp: START, ...metadata } } as StoredMap);
    }
    const found = stored.get(name);
    return found === undefined ? { status: 404, body: {} } : { status: 200, body: found };
  };
  const send: KubeClient['send'] = async (request) => {
    await Promise.resolve();
    return { headers: {}, ...answer(request) };
  };
  return { client: { send, watch: () => assert.fail('no watch'), close: () => undefined }, stored, sent };
}

function maintenanceOf(name: string, uid: string, status: 'True' | 'False', stage = 'Drain'): NodeMaintenance {
  const maintenance = drainOf(name, ['one'], { stage });
  return {
    ...maintenance,
    metadata: { ...maintenance.metadata, uid },
    status: {
      conditions: [{ type: 'Drained', status, reason: 'x', message: '', lastTransitionTime: START }],
      stageStatuses: ['Drain', ...(stage === 'Complete' ? [stage] : [])].map((each) => ({
        name: each,
        startTimestamp: START,
      })),
    },
  } as unknown as NodeMaintenance;
}

describe('the keeper of stories', () => {
  const build = (most: number) => {
    const cluster: MemoryCluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    cluster.context.maintenances.noteNode('one');
    const put = (maintenance: NodeMaintenance): void => {
      cluster.put('Maintenance', maintenance);
      cluster.context.maintenances.note(maintenance.metadata.name);
    };
    const maps = configMaps();
    /** The keeper of a new term. */
    const term = () => {
      const options = { ...cluster.context.options, keptStories: most };
      const [loop] = storyLoops({ ...cluster.context, client: maps.client, options });
      assert.ok(loop !== undefined);
      return async (name: string): Promise<object> => await loop.reconcile(name, AbortSignal.timeout(5_000));
    };
    return { cluster, put, ...maps, term };
  };

  it('keeps nothing where no story is wanted', () => {
    assert.deepEqual(storyLoops(createMemoryCluster().context), []);
  });

  it('writes a story when the pods have left, and once more when the maintenance is complete, also in a new term', async () => {
    const { put, stored, sent, term } = build(10);
    const keep = term();
    put(maintenanceOf('m', 'a1', 'False'));
    await keep('m');
    assert.equal(stored.size, 0);
    put(maintenanceOf('m', 'a1', 'True'));
    for (const each of [keep, keep, term()]) await each('m');
    assert.equal(sent.filter((each) => each.startsWith('PATCH')).length, 1);
    put(maintenanceOf('m', 'a1', 'True', 'Complete'));
    for (const each of [term(), keep]) await each('m');
    const [map, ...others] = stored.values();
    assert.deepEqual(others, []);
    assert.equal(map?.metadata.name, 'nodemaint-story-a1');
    assert.deepEqual(
      readKeptDocument(map.data['story.json'] ?? '')?.nodes.map(({ node }) => node),
      ['one'],
    );
  });

  it('ends the story of one that is gone, and of one that another has replaced', async () => {
    const { cluster, put, stored, term } = build(10);
    const keep = term();
    put(maintenanceOf('m', 'a1', 'True'));
    await keep('m');
    put(maintenanceOf('m', 'b2', 'True'));
    await keep('m');
    cluster.remove('Maintenance', 'm');
    await keep('m');
    const states = [...stored.values()].map(({ metadata }) => (metadata as { labels?: object }).labels);
    const ended = { 'nodemaintenance.x-k8s.io/story': 'ended' };
    assert.deepEqual(states, [ended, ended]);
  });

  it('forgets one that somebody has deleted or changed, and goes on', async () => {
    const { cluster, put, stored, term } = build(10);
    const keep = term();
    put(maintenanceOf('m', 'a1', 'True'));
    await keep('m');
    stored.clear();
    cluster.remove('Maintenance', 'm');
    await keep('m');
    assert.equal(stored.size, 0);
    put(maintenanceOf('m', 'c3', 'True'));
    await keep('m');
    assert.equal(stored.size, 1);
  });

  it('keeps no more than are wanted', async () => {
    const { put, stored, term } = build(2);
    const keep = term();
    for (const name of ['a', 'b', 'c']) {
      put(maintenanceOf(name, `${name}1`, 'True'));
      await keep(name);
    }
    assert.equal(stored.size, 2);
  });
});
