import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { openAgentMetrics } from '../../../../src/agent/metrics/serve.ts';
import { openNoticeMemory } from '../../../../src/agent/notices/memory.ts';
import { Notices } from '../../../../src/agent/notices/notices.ts';
import type { AgentStatus } from '../../../../src/agent/control/status.ts';
import type { Notice } from '../../../../src/decide/notice/notices.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import type { Log } from '../../../../src/telemetry/log.ts';
import { freePort } from '../../../control-plane/port.ts';
import { makeTestFolder } from '../../../support/folder.ts';
import { openTestState } from '../../../support/agent/state.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { drainingPhase } from '../../../support/agent/phase-facts.ts';

const SPOT: Notice = { id: 'aws/spot', kind: 'preempt', reason: 'spot', provider: 'aws' };

const SINCE = Date.UTC(2026, 0, 1);
const STATUS: AgentStatus = {
  node: 'n',
  phase: drainingPhase('cluster', { maintenance: 'shutdown-n-0', reason: 'reboot', since: SINCE }),
  summary: '',
  lock: { kind: 'unit', held: true, message: 'held', delay: { limitMs: 90_000 } },
  scheduled: null,
  cluster: { configured: true, heardAt: SINCE },
  maintenance: null,
  waitingFor: [
    { wait: 'manifest', what: 'default/a', on: 'kubelet', message: '' },
    { wait: 'manifest', what: 'default/b', on: 'imperative-eviction.k8s.io', message: '' },
    { wait: 'manifest', what: 'default/c', on: 'kubelet', message: '' },
  ],
  inPlace: ['a.yaml'],
  parked: ['b.yaml', 'c.yaml'],
  warnings: ['x'],
  startedAt: SINCE,
};
const SOURCE = { isReady: () => true, status: () => STATUS, now: () => SINCE + 42_000 };

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
    const notices = new Notices({
      sources: () => Promise.resolve([good, bad]),
      options: { leadMs: 0 },
      memory: await openNoticeMemory(await openTestState(folder), 'boot-1', log),
      aheadMs: () => 0,
      clock: createSystemClock(),
      log,
      observer: metrics.notices,
      onChange: ignore,
    });
    const running = Promise.all([metrics.serve(SOURCE, stop.signal), notices.run(stop.signal)]);
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
      assert.ok(Math.abs(Number(at) * 1000 - Date.now()) < 120_000, `last answered at ${at}`);
      assert.ok(!text.includes('timestamp_seconds{source="aws lifecycle"}'), 'it has never answered');
      for (const line of [
        'nodemaint_phase{phase="draining"} 1',
        'nodemaint_phase{phase="watching"} 0',
        'nodemaint_shutdown_lock_held 1',
        'nodemaint_shutdown_lock_limit_seconds 90',
        'nodemaint_shutdown_held_seconds 42',
        'nodemaint_waiting{actor="kubelet"} 2',
        'nodemaint_static_pods_in_place 1',
        'nodemaint_static_pods_parked 2',
        `nodemaint_api_server_last_answer_timestamp_seconds ${SINCE / 1000}`,
        'nodemaint_storage_problem 0',
        'nodemaint_setup_warnings 1',
        'nodemaint_shutdown_steps_total{step="forced"} 0',
      ]) {
        assert.ok(text.includes(`\n${line}\n`), line);
      }
      assert.match(text, /^nodemaint_build_info\{version="\d[^"]*",commit="[^"]*",node_version="\d[^"]*"\} 1$/m);
      metrics.announced('ShutdownForced');
      metrics.announced('SomethingElse');
      assert.match(await read(), /^nodemaint_shutdown_steps_total\{step="forced"\} 1$/m);
    } finally {
      stop.abort();
      await running;
    }
  });

  it('a figure that does not apply is absent, so that no alert takes its 0 for a fault', async () => {
    const stop = new AbortController();
    const address = `127.0.0.1:${await freePort()}`;
    const metrics = await openAgentMetrics(address, log);
    let status: AgentStatus = {
      ...STATUS,
      lock: { kind: 'none', held: true, message: '' },
      cluster: { configured: false },
    };
    const running = metrics.serve({ ...SOURCE, status: () => status }, stop.signal);
    let text = '';
    const read = async (): Promise<boolean> => {
      text = await (await fetch(`http://${address}/metrics`)).text();
      return text.length > 0;
    };
    const samples =
      /^nodemaint_(?:shutdown_lock_held|shutdown_lock_limit_seconds|api_server_last_answer_timestamp_seconds) .*$/gm;
    try {
      await waitFor('the metrics are served', read, { timeoutMs: 10_000 });
      assert.deepEqual(text.match(samples), null);
      status = { ...STATUS, lock: { kind: 'unit', held: false, message: 'away' }, cluster: { configured: true } };
      await read();
      assert.deepEqual(text.match(samples)?.toSorted(), [
        'nodemaint_api_server_last_answer_timestamp_seconds 0',
        'nodemaint_shutdown_lock_held 0',
      ]);
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
    await metrics.serve(SOURCE, AbortSignal.timeout(5_000));
    assert.deepEqual(errors, ['metrics are not served']);
    server.close();
  });

  it('the metrics are not served where no address is configured', async () => {
    const metrics = await openAgentMetrics(undefined, log);
    assert.equal(metrics.notices, undefined);
    await metrics.serve(SOURCE, AbortSignal.timeout(1_000));
  });
});
