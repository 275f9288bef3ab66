import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSystemClock } from '../../../src/host/clock.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { NODES } from '../../../src/kube/resource.ts';
import { createObjectCache } from '../../../src/kube/watch.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';

const nodeOf = (name: string, resourceVersion: string): object => ({ metadata: { name, resourceVersion } });

/** Runs a copy over these lists, one after the other, each with a watch of these events; returns its keys and what it was told of. */
async function copyAfter(
  lists: readonly (readonly object[])[],
  events: readonly object[],
): Promise<{ readonly names: readonly string[]; readonly told: readonly string[] }> {
  const [told, stop] = [[] as string[], new AbortController()];
  let listed = 0;
  let watched = 0;
  const client: KubeClient = {
    send: () => {
      const items = lists[listed] ?? [];
      listed += 1;
      return Promise.resolve({ status: 200, headers: {}, body: { metadata: { resourceVersion: '1' }, items } });
    },
    watch: async function* () {
      watched += 1;
      await Promise.resolve();
      yield* events;
      if (watched === lists.length) stop.abort();
      yield { type: 'ERROR', object: { code: 410 } };
    },
    close: () => undefined,
  };
  const clock = { ...createSystemClock(), sleep: () => Promise.resolve() };
  const cache = createObjectCache({ resource: NODES }, (key) => told.push(key), { client, clock, log: SILENT_LOG });
  await cache.run(stop.signal);
  return { names: cache.list().map(({ metadata }) => metadata.name), told };
}

it('an object that a watch says is deleted is not in the copy any more', async () => {
  const deleted = { type: 'DELETED', object: nodeOf('a', '2') };
  const { names, told } = await copyAfter([[nodeOf('a', '1'), nodeOf('b', '1')]], [deleted]);
  assert.deepEqual(names, ['b']);
  assert.deepEqual(told, ['a', 'b', 'a']);
});

it('what came, changed or went between two lists is told, and what stayed as it was is not', async () => {
  const lists = [
    [nodeOf('stays', '1'), nodeOf('changes', '1'), nodeOf('goes', '1')],
    [nodeOf('stays', '1'), nodeOf('changes', '2'), nodeOf('comes', '3')],
  ];
  const { names, told } = await copyAfter(lists, []);
  assert.deepEqual(names, ['stays', 'changes', 'comes']);
  assert.deepEqual(told.slice(3), ['changes', 'goes', 'comes']);
});
