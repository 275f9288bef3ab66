import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { openAgentMetrics } from '../../../../src/agent/notices/metrics.ts';
import { openNoticeMemory } from '../../../../src/agent/notices/memory.ts';
import { createNotices } from '../../../../src/agent/notices/notices.ts';
import type { Notice } from '../../../../src/decide/notice/notices.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import type { Log } from '../../../../src/telemetry/log.ts';
import { freePort } from '../../../control-plane/port.ts';
import { makeTestFolder } from '../../../support/folder.ts';
import { openTestState } from '../../../support/agent/state.ts';
import { waitFor } from '../../../support/wait-for.ts';

const SPOT: Notice = { id: 'aws/spot', kind: 'preempt', reason: 'spot', provider: 'aws' };

describe('the metrics of an agent', () => {
  let folder: string;
  const errors: string[] = [];
  const ignore = (): void => undefined;
  const log: Log = {
    debug: ignore,
    info: ignore,
    warn: ignore,
    error: (_fields: object, message?: string) => {
      errors.push(message ?? '');
    },
  };
  before(async () => {
    folder = await makeTestFolder('metrics');
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  it('the metrics count notices by provider and kind, failures and the last answer by source', async () => {
    const stop = new AbortController();
    const address = `127.0.0.1:${await freePort()}`;
    const metrics = await openAgentMetrics(address, log);
    let looks = 0;
    const good = { name: 'aws spot', everyMs: 20, read: () => Promise.resolve((looks += 1) % 2 === 0 ? [SPOT] : []) };
    const bad = { name: 'aws lifecycle', everyMs: 60_000, read: () => Promise.reject(new Error('HTTP 500')) };
    const notices = createNotices({
      sources: () => Promise.resolve([good, bad]),
      options: { rebalance: 'ignore', freeze: 'ignore', leadMs: 0 },
      memory: await openNoticeMemory(await openTestState(folder), 'boot-1', log),
      clock: createSystemClock(),
      log,
      observer: metrics.notices,
      onChange: ignore,
    });
    const running = Promise.all([metrics.serve(() => true, stop.signal), notices.run(stop.signal)]);
    const read = async (): Promise<string> =>
      await fetch(`http://${address}/metrics`).then(
        (response) => response.text(),
        () => '',
      );
    try {
      const seen = async (): Promise<boolean> =>
        /^nodemaint_notices_total\{provider="aws",kind="preempt"\} ([2-9]|\d{2,})$/m.test(await read());
      await waitFor('a notice has come twice', seen, { timeoutMs: 10_000 });
      const text = await read();
      assert.match(text, /^nodemaint_notice_source_errors_total\{source="aws lifecycle"\} 1$/m);
      assert.match(text, /^nodemaint_notice_source_errors_total\{source="aws spot"\} 0$/m);
      const [, at = ''] =
        /^nodemaint_notice_source_last_success_timestamp_seconds\{source="aws spot"\} ([\d.e+]+)$/m.exec(text) ?? [];
      assert.ok(Math.abs(Number(at) * 1000 - Date.now()) < 5_000, `last answered at ${at}`);
      assert.ok(!text.includes('timestamp_seconds{source="aws lifecycle"}'), 'it has never answered');
    } finally {
      stop.abort();
      await running;
    }
  });

  it('metrics that cannot be served are an error in the log, and nothing else', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as { port: number };
    const metrics = await openAgentMetrics(`127.0.0.1:${port}`, log);
    await metrics.serve(() => true, AbortSignal.timeout(5_000));
    assert.deepEqual(errors, ['metrics are not served']);
    server.close();
  });

  it('the metrics are not served where no address is configured', async () => {
    const metrics = await openAgentMetrics(undefined, log);
    assert.equal(metrics.notices, undefined);
    await metrics.serve(() => true, AbortSignal.timeout(1_000));
  });
});
