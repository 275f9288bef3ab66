import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EVICTION_REQUEST_API_VERSION } from '../../../src/api/names.ts';
import type { NodeMaintenance, NodeStatus } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { EVICTION_REQUESTS, objectPath } from '../../../src/kube/resource.ts';
import { sendForObject } from '../../../src/kube/request.ts';
import { buildEvictionRig, type EvictionRig, intercepts } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';
import { drainOf } from '../../support/maintenance/objects.ts';

const INTERCEPTOR = 'hostile.example.com';
const FOREVER_SEC = 1e13;

/** What any interceptor may report of its own work: a time that is no time any more in UTC. */
async function reportHostileTime(rig: EvictionRig, pod: Pod): Promise<void> {
  const now = new Date().toISOString();
  const times = { startTime: now, heartbeatTime: now, expectedFinishTime: '9999-12-31T23:59:59-12:00' };
  const { uid: name = '', namespace = '' } = pod.metadata;
  const body = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name, namespace },
    status: { interceptors: [{ name: INTERCEPTOR, message: 'at work', ...times }] },
  };
  const path = objectPath(EVICTION_REQUESTS, { name, namespace }, 'status');
  const patch = { kind: 'apply', manager: INTERCEPTOR } as const;
  await sendForObject(rig.client, { method: 'PATCH', path, body, patch }, [], AbortSignal.timeout(10_000));
}

describe('a pod with a grace period of 10^13 s in a maintenance of two nodes, on a real API server', () => {
  it('the drain of all other pods continues, and the status names the pod', async () => {
    await using rig = await buildEvictionRig();
    const { kubectl } = rig.controlPlane;
    const apply = async (object: object): Promise<string> =>
      await kubectl(['apply', '-f', '-'], JSON.stringify(object));
    for (const name of ['six', 'seven']) await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
    await rig.createPod('forever', {}, { nodeName: 'six', terminationGracePeriodSeconds: FOREVER_SEC });
    await rig.createPod('next-to-it', {}, { nodeName: 'six' });
    await rig.createPod('elsewhere', {}, { nodeName: 'seven' });
    const claimed = await rig.createPod('claimed', intercepts(INTERCEPTOR, 10_000), { nodeName: 'seven' });
    await rig.startController();
    await apply(drainOf('both', ['six', 'seven']));

    const nodeStatuses = async (): Promise<readonly NodeStatus[]> => {
      const { status } = JSON.parse(await kubectl(['get', 'nm', 'both', '-o', 'json'])) as NodeMaintenance;
      return status?.nodeStatuses ?? [];
    };
    const isTold = async (name: string): Promise<boolean> =>
      (await rig.getPod(name))?.metadata.deletionTimestamp !== undefined;
    for (const name of ['next-to-it', 'elsewhere', 'forever']) await waitFor(name, () => isTold(name));
    await rig.waitFor(claimed, 'claimed', ({ status }) => status?.activeInterceptors?.[0] === INTERCEPTOR);
    await reportHostileTime(rig, claimed);
    for (const name of ['next-to-it', 'elsewhere']) await rig.endPod(name);
    const shown = async (): Promise<readonly string[]> =>
      (await nodeStatuses())
        .flatMap(({ podsBlocking = [] }) => podsBlocking.map(({ name, reason }) => `${name}: ${reason}`))
        .toSorted();
    await waitFor('those two are named', async () => (await shown()).length === 2);
    assert.deepEqual(await shown(), ['claimed: Interceptor', 'forever: NotEnding']);
    const left = async (): Promise<string> =>
      (await nodeStatuses())
        .map((node) => `${node.nodeRef.name}: ${node.podsEvacuating}`)
        .toSorted()
        .join();
    await waitFor('each node has one pod left', async () => (await left()) === 'seven: 1,six: 1');
    // 9999-12-31T23:59:59-12:00 is a moment of the year 10000: it is written as the last one that can be.
    const isCut = async (): Promise<boolean> =>
      (await nodeStatuses()).some(
        (node) => node.nodeRef.name === 'seven' && node.expectedFinishTime === '9999-12-31T23:59:59Z',
      );
    await waitFor('the status has the last time that can be', isCut);
  });
});
