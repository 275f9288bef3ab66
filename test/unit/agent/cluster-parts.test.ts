import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type ClusterParts, openCluster } from '../../../src/agent/cluster-parts.ts';
import { DEADLINE_ANNOTATION } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { createContainerRuntime } from '../../../src/host/cri/runtime.ts';
import { createRecordingLog } from '../../support/agent/recording-log.ts';
import { createObjectServer, type ObjectServer } from '../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';

const SIGNAL = AbortSignal.timeout(60_000);
const NOW = createSteppingClock().now();
const HOUR = 3_600_000;

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
    access: { server: new URL('https://api.example:6443'), authenticate: () => Promise.resolve() },
    endsWithBoot,
    runtime,
    presence: { readDoctor: () => Promise.resolve({ doctor: 'ok' as const, checks: [] }), config: '' },
  };
  return { parts: openCluster(options, dependencies, lifetime.signal), server };
}

/** What is written for a drain whose maintenance ends with the boot `endsWithBoot`. */
async function writesOf(t: TestContext, endsWithBoot: string | undefined): Promise<string> {
  const { parts, server } = open(t, endsWithBoot);
  const draft = { name: 'shutdown-node-a-0', reason: 'power', stage: 'Drain', drainPlan: [] } as const;
  await parts.cluster.own.create(draft, SIGNAL);
  return JSON.stringify(server.requests);
}

describe("the agent's parts of a cluster", () => {
  it('the parts ask nothing of the API server before the cluster runs', (t) => {
    const { parts, server } = open(t, undefined);
    assert.equal(parts.cluster.maintenances.synced(), false);
    assert.deepEqual(server.asked, []);
  });

  it('the NodeMaintenance names the boot only where it ends with the boot', async (t) => {
    assert.match(await writesOf(t, 'boot-id-1'), /boot-id-1/);
    const written = await writesOf(t, undefined);
    assert.match(written, /shutdown-node-a/);
    assert.doesNotMatch(written, /boot/i);
  });

  it("the deadline of a drain is written by the API server's clock once that is known", async (t) => {
    const { parts, server } = open(t, undefined);
    const deadline = { at: NOW + 60_000, since: NOW };
    const draft = { name: 'shutdown-node-a-0', reason: 'spot', stage: 'Drain', drainPlan: [], deadline } as const;
    const ask = { method: 'GET', path: '/api/v1/nodes/node-a' } as const;
    const headers = { date: new Date(NOW + HOUR).toUTCString() };
    server.client.send = (request) => {
      server.requests.push(request);
      return Promise.resolve({ status: 200, headers, body: request.body ?? {} });
    };
    await parts.client.send(ask, SIGNAL);
    await parts.cluster.own.create(draft, SIGNAL);
    const made = server.requests.at(-1)?.body as NodeMaintenance | undefined;
    const written = Date.parse(made?.metadata.annotations?.[DEADLINE_ANNOTATION] ?? '');
    assert.ok(Math.abs(written - (deadline.at + HOUR)) <= 500, new Date(written).toISOString());
  });
});
