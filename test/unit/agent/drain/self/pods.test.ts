import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSelfRemovals } from '../../../../../src/agent/drain/self/daemon-sets.ts';
import { createSelfEvictions } from '../../../../../src/agent/drain/self/evictions.ts';
import { createPodEnder } from '../../../../../src/agent/drain/self/pods.ts';
import type { EvictionRequest } from '../../../../../src/api/eviction-request.ts';
import type { NodeMaintenance } from '../../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../../src/api/pod.ts';
import { drainPodsOfNode, resolveSelfDrains } from '../../../../../src/decide/drain/self-drain.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';
import { createObjectServer } from '../../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const always = (): Promise<boolean> => Promise.resolve(true);
const MAINTENANCE: NodeMaintenance = {
  metadata: { name: 'm', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    stage: 'Drain',
    nodeSelector: {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
    },
  },
};
const DAEMON_SET_OWNER = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logs', uid: 'ds', controller: true };

function podOf(name: string, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    spec: { nodeName: 'n1' },
  };
}

/** One pass over the pods of the node, with the targets of its drain recorded. */
function open(pods: readonly Pod[], requests: readonly EvictionRequest[] = []) {
  const server = createObjectServer();
  const clock = createSteppingClock();
  const dependencies = { client: server.client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined };
  const evictions = createSelfEvictions(dependencies);
  const ender = createPodEnder({
    client: server.client,
    clock,
    evictions,
    removals: createSelfRemovals(dependencies),
  });
  const own = resolveSelfDrains([MAINTENANCE], 'n1', drainPodsOfNode(pods, []));
  const recorded = own.map(({ resolution }) => ({
    maintenance: 'm',
    reason: '',
    drainTargets: resolution.nodes[0]?.drainTargets ?? [],
  }));
  const pass = (mayAct = always) => ender.end({ ...ender.scopeOf(own, pods, requests), recorded, mayAct }, SIGNAL);
  return { server, pass, evictions };
}

describe('the end of pods on a node that its agent drains', () => {
  it('a pod is evicted, and asked once while it ends', async () => {
    const { server, pass } = open([podOf('web')]);
    const { waiting } = await pass();
    await pass();
    assert.deepEqual(server.asked, ['POST /api/v1/namespaces/default/pods/web/eviction']);
    assert.equal(waiting[0]?.message, 'Pod web is terminating.');
  });

  it('a pod of a DaemonSet is deleted, and no pod of the same name', async () => {
    const { server, pass } = open([podOf('logs-1', { ownerReferences: [DAEMON_SET_OWNER] })]);
    const { waiting } = await pass();
    assert.deepEqual(server.asked, ['DELETE /api/v1/namespaces/default/pods/logs-1']);
    const body = server.requests[0]?.body as { preconditions?: object };
    assert.deepEqual(body.preconditions, { uid: 'uid-logs-1' });
    assert.equal(waiting[0]?.message, 'is being deleted');
  });

  it('a pod is left to a controller that is alive again', async () => {
    const { server, pass } = open([podOf('web')]);
    await pass(() => Promise.resolve(false));
    assert.deepEqual(server.asked, []);
  });

  it('a pod waits for the interceptor that its request has come to', async () => {
    const request: EvictionRequest = {
      metadata: { name: 'uid-web', namespace: 'default' },
      spec: { target: { pod: { name: 'web', uid: 'uid-web' } } },
      status: { activeInterceptors: ['database.example.com'] },
    };
    const { server, pass } = open([podOf('web')], [request]);
    const { waiting } = await pass();
    assert.deepEqual(server.asked, []);
    assert.equal(waiting[0]?.on, 'database.example.com');
  });

  it('the agent names a pod that a budget keeps, with the budget as the reason', async () => {
    const pod = podOf('web');
    const { server, pass, evictions } = open([pod]);
    server.refused.set('POST /api/v1/namespaces/default/pods/web/eviction', 500);
    await pass();
    assert.deepEqual(
      evictions.blocking([pod]).map(({ name, reason }) => [name, reason]),
      [['web', 'EvictionRefused']],
    );
  });
});
