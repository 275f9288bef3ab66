import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createKubeClient } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createEventRecorder } from '../../../src/kube/events.ts';
import { removeFailedPods } from '../../../src/kube/eviction/failed-pods.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { startControlPlane } from '../../control-plane/control-plane.ts';
import { waitFor } from '../../support/wait-for.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';

const NODE = 'node-a';

function podOn(name: string, nodeName: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { nodeName, containers: [{ name: 'c', image: 'x' }], tolerations: [{ operator: 'Exists' }] },
  };
}

describe("a node's own identity after a shutdown", () => {
  it('the agent removes the failed pods that the shutdown left on this node alone, and records an Event', async () => {
    await using stack = new AsyncDisposableStack();
    const { signal } = new AbortController();
    const controlPlane = stack.use(await startControlPlane({}, AbortSignal.timeout(120_000)));
    const pods: [string, string, string][] = [
      ['killed', NODE, 'Terminated'],
      ['kept-out', NODE, 'NodeShutdown'],
      ['evicted', NODE, 'Evicted'],
      ['elsewhere', 'node-b', 'Terminated'],
    ];
    for (const name of [NODE, 'node-b']) {
      await controlPlane.kubectl(
        ['apply', '-f', '-'],
        JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name } }),
      );
    }
    for (const [name, node, reason] of pods) {
      await controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(podOn(name, node)));
      const status = JSON.stringify({ status: { phase: 'Failed', reason } });
      await controlPlane.kubectl(['patch', 'pod', name, '--subresource=status', '--type=merge', '-p', status]);
    }
    const kubeconfig = await controlPlane.kubeconfigFor(`system:node:${NODE}`, ['system:nodes']);
    const client = createKubeClient(await loadClusterAccess(kubeconfig), 'test');
    stack.defer(() => client.close());
    const removed = await removeFailedPods(client, NODE, AbortSignal.timeout(30_000));
    assert.deepEqual(removed.toSorted(), ['default/kept-out', 'default/killed']);
    const left = await controlPlane.kubectl(['get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}']);
    assert.deepEqual(left.split(' ').toSorted(), ['elsewhere', 'evicted']);
    assert.deepEqual(await removeFailedPods(client, NODE, signal), []);

    const end = new AbortController();
    const events = createEventRecorder('nodemaint-agent', { client, clock: createSystemClock(), log: SILENT_LOG });
    const running = events.run(end.signal);
    const subject = { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE, uid: NODE } };
    events.record(subject, {
      type: 'Warning',
      reason: 'WentDownUndrained',
      message: 'went down before its pods had ended',
    });
    const seen = async (): Promise<boolean> =>
      (await controlPlane.kubectl(['get', 'events', '-o', 'jsonpath={.items[*].reason}'])).includes(
        'WentDownUndrained',
      );
    await waitFor('the event is there', seen, { timeoutMs: 20_000 });
    end.abort();
    await running;
  });
});
