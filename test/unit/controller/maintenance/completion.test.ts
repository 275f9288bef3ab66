import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { COMPLETION_FINALIZER } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { changeMaintenance } from '../../../support/maintenance/change.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';
import { waitFor } from '../../../support/wait-for.ts';

const PATIENT = { timeoutMs: 15_000 };

/** A drain of the node one, whose only pod is `web`; resolves when the pod has been asked to leave. */
async function drained(cluster: MemoryCluster): Promise<void> {
  cluster.put('Node', { metadata: { name: 'one' } });
  const pod: Pod = { metadata: { name: 'web', namespace: 'n', uid: 'u-web' }, spec: { nodeName: 'one', priority: 0 } };
  cluster.put('Pod', pod);
  cluster.put('Maintenance', drainOf('m', ['one']));
  await waitFor('the cordon', () => cluster.get('Node', 'one')?.spec?.unschedulable === true, PATIENT);
  await waitFor('the request', () => cluster.get('Request', 'n/u-web') !== undefined, PATIENT);
  const truths = (): readonly unknown[] =>
    (cluster.get('Node', 'one')?.status?.conditions ?? []).map(({ status }) => status);
  await waitFor('the conditions', () => truths().includes('True'), PATIENT);
}

/** What is taken back, with the object and the write that does it. */
const WRITES = {
  'the cordon': { of: 'Node', method: 'PATCH', path: '/api/v1/nodes/one' },
  'the conditions of the node': { of: 'Node', method: 'PATCH', path: '/api/v1/nodes/one/status' },
  'the requester entry': { of: 'Request', method: 'PATCH', path: '/evictionrequests/u-web' },
  'the request': { of: 'Request', method: 'DELETE', path: '/evictionrequests/u-web' },
} as const;

/** Somebody else changes the object again and again right before the write, which meets a conflict each time. Returns the number. */
function disturb(cluster: MemoryCluster, { of, method, path }: (typeof WRITES)[keyof typeof WRITES]): () => number {
  let conflicts = 0;
  cluster.answer = (request) => {
    if (request.method !== method || !request.path.endsWith(path)) return undefined;
    conflicts += 1;
    const object = cluster.get(of, of === 'Node' ? 'one' : 'n/u-web');
    const annotations = { ...object?.metadata.annotations, touched: `${conflicts}` };
    if (object !== undefined) cluster.put(of, { ...object, metadata: { ...object.metadata, annotations } });
    return { status: 409, message: 'the object has been modified' };
  };
  return () => conflicts;
}

describe('the completion of a maintenance', () => {
  for (const [what, write] of Object.entries(WRITES)) {
    it(`the finalizer stays until ${what} is taken back`, async () => {
      const cluster = createMemoryCluster();
      await using _ = cluster.lead();
      await drained(cluster);
      const conflicts = disturb(cluster, write);
      const isHeld = (): boolean =>
        cluster.get('Maintenance', 'm')?.metadata.finalizers?.includes(COMPLETION_FINALIZER) === true;
      changeMaintenance(cluster, 'm', { stage: 'Complete' });
      await waitFor('some conflicts', () => conflicts() > 3, PATIENT);
      // Long enough for the completion, which is one write of the same loops.
      await delay(500);
      assert.ok(isHeld());
      cluster.answer = () => undefined;
      await waitFor('the completion', () => !isHeld(), PATIENT);
      assert.notEqual(cluster.get('Node', 'one')?.spec?.unschedulable, true);
      assert.equal(cluster.get('Request', 'n/u-web'), undefined);
    });
  }
});
