import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBlockedPods } from '../../../../src/agent/drain/blocked-pods.ts';
import { CONTROLLER_NAMESPACE } from '../../../../src/api/lease.ts';
import { SHUTDOWN_KIND_ANNOTATION } from '../../../../src/api/names.ts';
import type { BlockingPod, NodeMaintenance, NodeStatus } from '../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { byName, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';

const SIGNAL = new AbortController().signal;
const PATH = '/api/v1/namespaces/shop/pods/web';

function shutdown(reason: BlockingPod['reason'], status: Partial<NodeStatus>, agent = 'n1'): NodeMaintenance {
  const annotations = { [SHUTDOWN_KIND_ANNOTATION]: 'poweroff' };
  const podsBlocking = [{ namespace: 'shop', name: 'web', reason, message: '', since: '' }];
  return {
    ...ownMaintenanceOf(agent, { annotations }, { nodeSelector: byName('n1') }),
    status: {
      nodeStatuses: [
        {
          nodeRef: { name: 'n1' },
          drainStartTime: '2026-01-01T00:00:00Z',
          budgetsNotAsked: true,
          podsBlocking,
          ...status,
        },
      ],
    },
  };
}

/** The requests of a pass where the node has this pod. */
async function asked(maintenance: NodeMaintenance, pod: Partial<Pod> = {}, status = 200) {
  const metadata = { name: 'web', namespace: 'shop', uid: 'u', ...pod.metadata };
  const path = PATH.replace('shop', metadata.namespace);
  const server = createObjectServer({ [path]: { metadata, spec: { nodeName: 'n1', ...pod.spec } } });
  if (status !== 200) server.refused.set(`DELETE ${PATH}`, status);
  const log = createRecordingLog();
  await createBlockedPods({ client: server.client, log, nodeName: 'n1' }).end([maintenance], SIGNAL);
  return { server, log };
}

describe('the pods that only budgets keep on a machine that goes down', () => {
  for (const reason of ['PodDisruptionBudget', 'EvictionFailed'] as const)
    it(`the agent ends them (${reason}) with their own grace period where the controller says that budgets are not asked`, async () => {
      const { server } = await asked(shutdown(reason, {}));
      assert.deepEqual(server.asked, [`GET ${PATH}`, `DELETE ${PATH}`]);
      assert.deepEqual(server.requests.at(-1)?.body, {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        preconditions: { uid: 'u' },
      });
    });

  it('the agent ends a replica of the controller although its budget is asked, and no other pod of its namespace', async () => {
    const path = `/api/v1/namespaces/${CONTROLLER_NAMESPACE}/pods/web`;
    for (const [name, deletes] of [
      ['nodemaint-controller', [`DELETE ${path}`]],
      ['another', []],
    ] as const) {
      const metadata = { name: 'web', namespace: CONTROLLER_NAMESPACE, labels: { 'app.kubernetes.io/name': name } };
      const podsBlocking = [{ ...metadata, reason: 'PodDisruptionBudget', message: '', since: '' }] as const;
      const maintenance = shutdown('PodDisruptionBudget', { budgetsNotAsked: undefined, podsBlocking } as never);
      const { server } = await asked(maintenance, { metadata });
      assert.deepEqual(server.asked, [`GET ${path}`, ...deletes]);
    }
  });

  const left: readonly [string, NodeMaintenance][] = [
    ['where budgets are asked', shutdown('PodDisruptionBudget', { budgetsNotAsked: undefined } as never)],
    ['where the pod waits for something else', shutdown('Interceptor', {})],
    ['where a webhook denies it', shutdown('EvictionRefused', {})],
    ['where the machine stays up', shutdown('PodDisruptionBudget', {}, 'another')],
  ];
  for (const [where, maintenance] of left) {
    it(`the agent ends none ${where}`, async () => {
      assert.deepEqual((await asked(maintenance)).server.asked, []);
    });
  }

  it('the agent ends none of another node, and none twice', async () => {
    const elsewhere = await asked(shutdown('PodDisruptionBudget', {}), { spec: { nodeName: 'n2' } });
    assert.deepEqual(elsewhere.server.asked, [`GET ${PATH}`]);
    const metadata = { name: 'web', deletionTimestamp: '2026-01-01T00:00:00Z' };
    const ending = await asked(shutdown('PodDisruptionBudget', {}), { metadata });
    assert.deepEqual(ending.server.asked, [`GET ${PATH}`]);
  });

  it('the agent goes on where one is refused, and says so', async () => {
    const { log } = await asked(shutdown('PodDisruptionBudget', {}), {}, 403);
    assert.equal(log.lines.length, 1);
  });
});
