import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LifecycleRequest } from '../../../../src/api/lifecycle.ts';
import { createLifecycleObjects } from '../../../../src/kube/lifecycle/objects.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { LIFECYCLE_REQUESTS } from '../../../../src/kube/lifecycle/resources.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { createObjectStore } from '../../../support/stand-ins/object-store.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { request } from '../../decide/lifecycle/objects.ts';

function withVersion(version: number, intent: 'Eviction' | 'Withdrawn'): LifecycleRequest {
  const made = request('foo.example.com/1', { intent });
  return { ...made, metadata: { ...made.metadata, resourceVersion: String(version) } };
}

describe('the copies of the objects of lifecycle.k8s.io', () => {
  it('a write counts before the watch has brought it, and no longer once the watch has brought a later one', async () => {
    const store = createObjectStore();
    const stopping = new AbortController();
    store.put(LIFECYCLE_REQUESTS, withVersion(2, 'Eviction'));
    const dependencies = { client: store.client, clock: createSystemClock(), log: SILENT_LOG };
    const { requests } = createLifecycleObjects(dependencies, () => undefined);
    const key = `shop/${withVersion(2, 'Eviction').metadata.name}`;
    const running = requests.cache.run(stopping.signal);
    await waitFor('the copy is there', () => requests.get(key) !== undefined);
    const intent = (): string | undefined => requests.get(key)?.spec.intent;

    requests.note(withVersion(3, 'Withdrawn'));
    assert.equal(intent(), 'Withdrawn');
    // The answer to a write may come after the watch has brought what another one made of the object.
    for (const each of [3, 4]) store.put(LIFECYCLE_REQUESTS, withVersion(each, each === 3 ? 'Eviction' : 'Withdrawn'));
    await waitFor('the watch has brought it', () => requests.get(key)?.metadata.resourceVersion === '4');
    requests.note(withVersion(3, 'Eviction'));
    assert.equal(intent(), 'Withdrawn');
    stopping.abort();
    await running;
  });
});
