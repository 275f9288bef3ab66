import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSelfGates } from '../../../../../src/agent/drain/self/gates.ts';
import { createSystemClock } from '../../../../../src/host/clock.ts';
import type { KubeClient, KubeRequest } from '../../../../../src/kube/client.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';

describe('the release of the gated pods of a node', () => {
  it('the release asks in the namespaces of DaemonSets alone, each once, and for no more of these than their names', async () => {
    const asked: KubeRequest[] = [];
    const sets = ['kube-system', 'monitoring', 'kube-system', 'network'].map((namespace, index) => ({
      metadata: { name: `set-${index}`, namespace },
    }));
    const client: KubeClient = {
      send: (request) => {
        asked.push(request);
        return Promise.resolve({
          status: 200,
          headers: {},
          body: { metadata: {}, items: asked.length === 1 ? sets : [] },
        });
      },
      watch: async function* () {},
      close: () => undefined,
    };
    const clock = createSystemClock();
    const gates = createSelfGates({ client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined });
    await gates.release(AbortSignal.timeout(5_000));
    const [list, ...deletions] = asked;
    assert.ok(list?.path.startsWith('/apis/apps/v1/daemonsets?') && list.namesOnly === true);
    assert.deepEqual(
      deletions.map(({ method, path }) => `${method} ${path.split('?')[0]}`),
      ['kube-system', 'monitoring', 'network'].map((name) => `DELETE /api/v1/namespaces/${name}/pods`),
    );
    assert.ok(
      asked.every((request) => request.as === 'system:serviceaccount:nodemaint-system:nodemaint-agent-release'),
    );
  });
});
