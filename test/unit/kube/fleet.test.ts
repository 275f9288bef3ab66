import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeClient } from '../../../src/kube/client.ts';
import { listFleet } from '../../../src/kube/fleet.ts';

/** An API server with so many Nodes, which keeps what was asked. */
function serverOf(count: number): { readonly client: KubeClient; readonly asked: string[] } {
  const asked: string[] = [];
  const send: KubeClient['send'] = async (request) => {
    const url = new URL(request.path, 'https://s');
    asked.push(`${request.answer ?? 'objects'} ${url.searchParams.get('limit') ?? ''}`);
    const from = Number(url.searchParams.get('continue') ?? '0');
    const to = Math.min(count, from + Number(url.searchParams.get('limit')));
    const rows = Array.from({ length: to - from }, (_, index) => ({
      cells: ['x', 'Ready'],
      object: { metadata: { name: `n${from + index}` } },
    }));
    const metadata = { resourceVersion: '1', ...(to < count ? { continue: String(to) } : {}) };
    const columnDefinitions = [{ name: 'Name' }, { name: 'Status' }];
    return { status: 200, headers: {}, body: { metadata, columnDefinitions, rows } };
  };
  return { client: { send } as KubeClient, asked };
}

describe('the nodes of a fleet', () => {
  for (const [count, requests] of [
    [0, 1],
    [500, 1],
    [1_000, 2],
    [5_000, 10],
  ] as const) {
    it(`${count} nodes are read as tables, in ${requests} requests`, async () => {
      const { client, asked } = serverOf(count);
      const nodes = await listFleet(client, '', AbortSignal.timeout(10_000));
      assert.equal(nodes.length, count);
      assert.deepEqual(
        asked,
        Array.from({ length: requests }, () => 'table 500'),
      );
      assert.ok(nodes.every(({ nodeStatus }) => nodeStatus === 'Ready'));
    });
  }
});
