import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createNodeEvictions, type NodeEvictions } from '../../../../src/agent/cluster/evictions.ts';
import type { KubeClient, KubeRequest } from '../../../../src/kube/client.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';
import { waitFor } from '../../../support/wait-for.ts';

interface Scene {
  readonly evictions: NodeEvictions;
  readonly asked: readonly KubeRequest[];
  pass(ms: number): void;
}

/** An API server that answers the question for the group with this status. */
function sceneOf(status: number, nodeName = 'n'): Scene {
  const server = createObjectServer();
  const asked: KubeRequest[] = [];
  const client: KubeClient = {
    ...server.client,
    send: (request) => {
      asked.push(request);
      return Promise.resolve({ status, headers: {}, body: {}, text: '' } as Awaited<ReturnType<KubeClient['send']>>);
    },
  };
  let ahead = 0;
  const clock = createSystemClock();
  const stepping = { ...clock, monotonic: (): number => clock.monotonic() + ahead };
  const dependencies = { client, clock: stepping, log: createRecordingLog(), nodeName, onChange: () => undefined };
  const lifetime = new AbortController().signal;
  return {
    evictions: createNodeEvictions(dependencies, () => lifetime),
    asked,
    pass: (ms) => {
      ahead += ms;
    },
  };
}

describe('the Evictions of a node', () => {
  it('an agent asks once for each drain whether the cluster serves them, and waits for none where it does not', async () => {
    const { evictions, asked } = sceneOf(404);
    assert.equal(evictions.synced(), false);
    evictions.watch(true);
    evictions.watch(true);
    await waitFor('the answer is there', () => evictions.synced());
    evictions.watch(true);
    assert.deepEqual(
      asked.map(({ path }) => path),
      ['/apis/lifecycle.k8s.io/v1alpha1'],
    );
    assert.deepEqual(evictions.list(), []);
  });

  it('a drain does not wait for ever for an API server that refuses to answer', () => {
    const { evictions, pass } = sceneOf(403);
    evictions.watch(true);
    assert.equal(evictions.synced(), false);
    pass(10_000);
    assert.equal(evictions.synced(), true);
  });

  it('a node whose name is too long for a responder asks nothing', () => {
    const { evictions, asked } = sceneOf(200, 'n'.repeat(201));
    evictions.watch(true);
    assert.equal(evictions.synced(), true);
    assert.deepEqual(asked, []);
  });
});
