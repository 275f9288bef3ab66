import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type ClusterParts, openCluster } from '../../../src/agent/cluster-parts.ts';
import { createContainerRuntime } from '../../../src/host/cri/runtime.ts';
import { createRecordingLog } from '../../support/agent/recording-log.ts';
import { createObjectServer, type ObjectServer } from '../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';

const SIGNAL = AbortSignal.timeout(60_000);

function open(t: TestContext, endsWithBoot: string | undefined): { parts: ClusterParts; server: ObjectServer } {
  const node = { status: { nodeInfo: { bootID: 'boot-id-1' } } };
  const server = createObjectServer({ '/api/v1/nodes/node-a': node });
  const runtime = createContainerRuntime('unix:///nonexistent/cri.sock');
  const lifetime = new AbortController();
  t.after(() => {
    lifetime.abort();
    runtime.close();
  });
  const dependencies = {
    client: server.client,
    clock: createSteppingClock(),
    log: createRecordingLog(),
    nodeName: 'node-a',
    onChange: () => undefined,
  };
  const options = {
    server: 'https://api.example:6443',
    endsWithBoot,
    runtime,
    readDoctor: () => Promise.resolve('ok' as const),
  };
  return { parts: openCluster(options, dependencies, lifetime.signal), server };
}

/** What is written for a drain whose maintenance ends with the boot `endsWithBoot`. */
async function writesOf(t: TestContext, endsWithBoot: string | undefined): Promise<string> {
  const { parts, server } = open(t, endsWithBoot);
  const draft = { name: 'shutdown-node-a', reason: 'power', stage: 'Drain', drainPlan: [] } as const;
  await parts.cluster.own.create(draft, SIGNAL);
  return JSON.stringify(server.requests);
}

describe("the agent's parts of a cluster", () => {
  it('the parts ask nothing of the API server before the cluster runs', (t) => {
    const { parts, server } = open(t, undefined);
    assert.equal(parts.cluster.maintenances.synced(), false);
    assert.equal(parts.client, server.client);
    assert.deepEqual(server.asked, []);
  });

  it('the NodeMaintenance names the boot only where it ends with the boot', async (t) => {
    assert.match(await writesOf(t, 'boot-id-1'), /boot-id-1/);
    const written = await writesOf(t, undefined);
    assert.match(written, /shutdown-node-a/);
    assert.doesNotMatch(written, /boot/i);
  });
});
