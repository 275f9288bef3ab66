import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { createKubeClient } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { listAll } from '../../../src/kube/list.ts';
import { collectionPath, NODE_MAINTENANCES } from '../../../src/kube/resource.ts';
import { createObjectCache } from '../../../src/kube/watch.ts';
import { maintenanceOf } from '../../support/maintenance/objects.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startInstalledCluster } from '../../support/commands/installed-cluster.ts';

/** What this reader takes of an answer; 16 MiB by itself. */
const MAX_BYTES = 100_000;

describe('NodeMaintenances that are too large to be read together, on a real API server', () => {
  it('the controller reads them one by one; one that is too large alone is left out of the list and the watch, and named', async () => {
    await using stack = new AsyncDisposableStack();
    const { controlPlane } = stack.use(await startInstalledCluster({}, AbortSignal.timeout(120_000)));
    /** A maintenance whose status has so many messages of 20 kB. */
    const make = async (name: string, messages: number): Promise<void> => {
      const object = { ...maintenanceOf(), metadata: { name } };
      await controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(object));
      const drainMessage = 'x'.repeat(20_000);
      const nodeStatuses = Array.from({ length: messages }, (_, at) => ({
        nodeRef: { name: `n-${at}` },
        drainMessage,
      }));
      const file = `${controlPlane.folder}/${name}.json`;
      await writeFile(file, JSON.stringify({ status: { nodeStatuses } }));
      await controlPlane.kubectl(['patch', 'nm', name, '--subresource=status', '--type=merge', `--patch-file=${file}`]);
    };
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) await make(name, name === 'c' ? 10 : 2);

    const access = await loadClusterAccess(controlPlane.adminKubeconfig);
    const whole = createKubeClient(access, 'test', MAX_BYTES);
    stack.defer(whole.close);
    const signal = AbortSignal.timeout(60_000);
    const path = collectionPath(NODE_MAINTENANCES);
    await assert.rejects(whole.send({ method: 'GET', path }, signal), { code: 'API_ANSWER_TOO_LARGE' });
    const list = await listAll<NodeMaintenance>(whole, { path }, (each) => each, signal);
    const found = list.items.map(({ metadata }) => metadata.name);
    assert.deepEqual(
      found,
      names.filter((name) => name !== 'c'),
    );
    assert.deepEqual(list.tooLarge, ['c']);

    const logged: string[] = [];
    const note = (fields: object, message: string): void => {
      logged.push(`${message} ${JSON.stringify(fields)}`);
    };
    const log = { debug: note, info: note, warn: note, error: note };
    const cache = createObjectCache<NodeMaintenance>({ resource: NODE_MAINTENANCES }, () => undefined, {
      client: whole,
      clock: createSystemClock(),
      log,
    });
    const stop = new AbortController();
    const running = cache.run(stop.signal);
    const has = (name: string) => (): Promise<boolean> => Promise.resolve(cache.get(name) !== undefined);
    await waitFor('the others are there', has('f'), { timeoutMs: 10_000, signal });
    await make('g', 10);
    await make('h', 2);
    await waitFor('what came after one that is too large is seen', has('h'), { timeoutMs: 20_000, signal });
    stop.abort();
    await running;
    assert.deepEqual(
      cache
        .list()
        .map(({ metadata }) => metadata.name)
        .toSorted(),
      ['a', 'b', 'd', 'e', 'f', 'h'],
    );
    assert.match(logged.join('\n'), /too large to be read .*"tooLarge":\["c","g"\]/);
  });
});
