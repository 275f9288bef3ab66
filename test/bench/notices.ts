/**
 * What watching for notices costs an idle agent: requests and processor time in an hour, from half a minute of it. The loops
 * of each cloud run in this process against a service, in it too, that answers as on a machine to which nothing happens: the
 * processor time is that of both.
 */
import { rm } from 'node:fs/promises';
import process from 'node:process';
import { openNoticeMemory } from '../../src/agent/notices/memory.ts';
import { createNotices } from '../../src/agent/notices/notices.ts';
import { providerSources } from '../../src/cloud/providers.ts';
import { type Provider, PROVIDERS } from '../../src/decide/notice/provider.ts';
import { createSystemClock } from '../../src/host/clock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import {
  ec2Answers,
  type MetadataServer,
  type Recorded,
  startMetadataServer,
} from '../support/stand-ins/metadata-server.ts';
import { makeTestFolder } from '../support/folder.ts';
import { openTestState } from '../support/agent/state.ts';

const RUN_MS = 30_000;
const HOUR_MS = 3_600_000;

const held = (body: string): MetadataServer['answers'][string] => {
  return async ({ query }): Promise<Recorded> => {
    if (query.get('wait_for_change') === 'true') {
      await new Promise((resolve) => {
        setTimeout(resolve, Number(query.get('timeout_sec')) * 1000).unref();
      });
    }
    return { body, headers: { etag: 'e' } };
  };
};

const QUIET: Readonly<Record<Provider, MetadataServer['answers']>> = {
  aws: ec2Answers({ 'events/maintenance/scheduled': '[]', 'autoscaling/target-lifecycle-state': 'InService' }),
  gcp: {
    'GET /computeMetadata/v1/instance/preempted': held('FALSE'),
    'GET /computeMetadata/v1/instance/maintenance-event': held('NONE'),
  },
  azure: {
    'GET /metadata/instance/compute/name': { body: 'vm' },
    'GET /metadata/scheduledevents': { body: '{"DocumentIncarnation":1,"Events":[]}' },
  },
  alibaba: { 'PUT /latest/api/token': { body: 't' } },
  tencent: {},
};

/** Prints the cost of each cloud. */
export async function benchNotices(): Promise<void> {
  for (const provider of PROVIDERS) {
    const folder = await makeTestFolder('bench-notices');
    await using server = await startMetadataServer(QUIET[provider]);
    const log = createLog('error', 'bench');
    const { sources, close } = providerSources(provider, { metadataUrl: server.url, azureStartRequests: false });
    const notices = createNotices({
      sources: () => Promise.resolve(sources),
      options: { rebalance: 'ignore', freeze: 'ignore', leadMs: 0 },
      memory: await openNoticeMemory(await openTestState(folder), 'boot', log),
      aheadMs: () => 0,
      clock: createSystemClock(),
      log,
      onChange: () => undefined,
    });
    const stop = AbortSignal.timeout(RUN_MS);
    const before = process.cpuUsage();
    await notices.run(stop);
    const { user, system } = process.cpuUsage(before);
    const requests = server.received.length;
    const perHour = HOUR_MS / RUN_MS;
    const cpuSec = ((user + system) / 1e6) * perHour;
    console.log(
      `notices of ${provider}, idle: at most ${Math.round(requests * perHour)} requests and ${cpuSec.toFixed(1)} s of processor time an hour (from ${requests} requests in ${RUN_MS / 1000} s)`,
    );
    close();
    await rm(folder, { recursive: true });
  }
}

if (process.argv[1] === import.meta.filename) await benchNotices();
