import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openNoticeMemory } from '../../../../src/agent/notices/memory.ts';
import { Notices } from '../../../../src/agent/notices/notices.ts';
import { findNoticeSources } from '../../../../src/agent/notices/sources.ts';
import type { NoticeSource } from '../../../../src/cloud/notice-source.ts';
import type { Notice, NoticeOptions } from '../../../../src/decide/notice/notices.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { NodemaintError } from '../../../../src/errors.ts';
import type { Clock } from '../../../../src/host/clock.ts';
import { createStateDisk } from '../../../../src/host/files/state-files.ts';
import type { Log } from '../../../../src/telemetry/log.ts';
import type { NoticeObserver } from '../../../../src/telemetry/notice-metrics.ts';
import { parseAgentConfig } from '../../../support/agent/config.ts';
import { openTestState } from '../../../support/agent/state.ts';
import { failingStateDisk, Fault } from '../../../support/disks/failing-disk.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';
import { drainingPhase } from '../../../support/agent/phase-facts.ts';

const START = Date.parse('2026-03-01T12:00:00Z');
const OPTIONS: NoticeOptions = { leadMs: 0 };
const WATCHING: Phase = { kind: 'watching' };
const BY_NOTICE = drainingPhase('offline', { origin: 'notice', reason: 'spot', since: START, bootId: 'boot-1' });
const NO = { kind: 'no' } as const;
const SPOT: Notice = { id: 'aws/spot', kind: 'preempt', reason: 'spot', provider: 'aws', notBefore: START + 120_000 };

interface Place {
  readonly bootId?: string;
  readonly stateDirectory?: string;
  /** How far the cluster's clock is ahead. */
  readonly aheadMs?: number;
  readonly observer?: NoticeObserver;
  readonly onChange?: () => void;
}

interface Lines {
  readonly log: Log;
  readonly lines: string[];
}

function collectLog(): Lines {
  const lines: string[] = [];
  const at = (level: string) => (_fields: object, message: string) => {
    lines.push(`${level} ${message}`);
  };
  return { lines, log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } };
}

/** A clock on which waiting takes no time; after `untilMs` it stops the loop. */
function fastClock(untilMs: number): { readonly clock: Clock; readonly signal: AbortSignal } {
  let now = START;
  const end = new AbortController();
  const sleep: Clock['sleep'] = async (ms, signal) => {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    now += ms;
    if (now - START >= untilMs) end.abort();
    signal.throwIfAborted();
  };
  return { signal: end.signal, clock: { now: () => now, monotonic: () => now, sleep } };
}

describe('the loop that watches for notices', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-notices-'));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  const make = async (
    source: NoticeSource,
    clock: Clock,
    { log }: Lines,
    { bootId = 'boot-1', stateDirectory = folder, aheadMs = 0, observer, onChange = () => undefined }: Place = {},
  ): Promise<Notices> =>
    new Notices({
      sources: () => Promise.resolve([source]),
      options: OPTIONS,
      memory: await openNoticeMemory(await openTestState(stateDirectory), bootId, log),
      clock,
      aheadMs: () => aheadMs,
      log,
      observer,
      onChange,
    });

  it('the loop tells of each change once, and a failed reading changes nothing', async () => {
    const end = new AbortController();
    const answers: (readonly Notice[] | Error)[] = [[SPOT], [SPOT], new Error('HTTP 500'), [SPOT], []];
    const read = (): Promise<readonly Notice[]> => {
      const next = answers.shift();
      if (answers.length === 0) end.abort();
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next ?? []);
    };
    const counts: string[] = [];
    const observer = {
      appeared: ({ id }: Notice) => counts.push(id),
      answered: () => counts.push('answered'),
      failed: () => counts.push('failed'),
    };
    const place = { observer, onChange: () => void counts.push('changed') };
    const notices = await make({ name: 'aws spot', everyMs: 5_000, read }, createSteppingClock(), collectLog(), place);
    await notices.run(end.signal);
    const appeared = ['answered', SPOT.id, 'changed'];
    assert.deepEqual(counts, [...appeared, 'answered', 'failed', 'answered', 'answered', 'changed']);
  });

  it('the loop reads after the pause of its source, and later after failures', async () => {
    const end = new AbortController();
    const clock = createSteppingClock();
    const start = clock.now();
    const reads: number[] = [];
    const read = (): Promise<readonly Notice[]> => {
      reads.push(clock.now() - start);
      if (reads.length === 4) end.abort();
      return reads.length === 1 ? Promise.resolve([]) : Promise.reject(new Error('HTTP 500'));
    };
    const notices = await make({ name: 'aws spot', everyMs: 5_000, read }, clock, collectLog());
    await notices.run(end.signal);
    assert.deepEqual(reads, [0, 5_000, 15_000, 35_000]);
  });

  it('the loop survives an hour of errors with one warning, looks less and less often, and drains nothing', async () => {
    const { clock, signal } = fastClock(3_600_000);
    let asked = 0;
    const read = (): Promise<readonly Notice[]> => {
      asked += 1;
      return Promise.reject(new NodemaintError('METADATA_FAILED', 'HTTP 503'));
    };
    const lines = collectLog();
    const notices = await make({ name: 'aws spot', everyMs: 5_000, read }, clock, lines);
    await notices.run(signal);
    assert.equal(lines.lines.filter((line) => line.startsWith('warn')).length, 1);
    assert.ok(asked >= 55 && asked <= 65, `${asked} questions in an hour`);
    assert.deepEqual(notices.addTo(NO, WATCHING), NO);
  });

  it('the loop keeps what was announced while the source fails, and ends it when the source says so', async () => {
    const { clock, signal } = fastClock(60_000);
    const answers: (readonly Notice[] | 'fails')[] = [[SPOT], 'fails', 'fails', []];
    const said: string[] = [];
    const lines = collectLog();
    const read = (): Promise<readonly Notice[]> => {
      said.push(notices.addTo(NO, BY_NOTICE).kind);
      const next = answers.shift() ?? [];
      return next === 'fails' ? Promise.reject(new Error('HTTP 500')) : Promise.resolve(next);
    };
    const notices: Notices = await make({ name: 'aws spot', everyMs: 5_000, read }, clock, lines);
    await notices.run(signal);
    assert.deepEqual(said.slice(0, 5), ['unknown', 'yes', 'yes', 'yes', 'no']);
    assert.deepEqual(
      lines.lines.filter((line) => !line.includes('watching')),
      [
        'info notice',
        'warn source of notices failed, trying again',
        'info source of notices answers again',
        'info notice is gone',
      ],
    );
  });

  it("the loop counts the time of a cloud by the cluster's clock where that is known", async () => {
    const { clock, signal } = fastClock(1_000);
    const source = { name: 'aws spot', everyMs: 5_000, read: () => Promise.resolve([SPOT]) };
    const notices = await make(source, clock, collectLog(), { aheadMs: -600_000 });
    await notices.run(signal);
    const deadline = START + 720_000;
    const wanted = { kind: 'yes', origin: 'notice', reason: 'spot', shutdownKind: 'poweroff', deadline };
    assert.deepEqual(notices.addTo(NO, WATCHING), wanted);
  });

  it('the loop does not drain again after the reboot for a notice that is still shown', async () => {
    const stateDirectory = await mkdtemp(path.join(folder, 'boots-'));
    const notice: Notice = { id: 'aws/Terminated', kind: 'terminate', reason: 'scale-in', provider: 'aws' };
    const kinds: string[] = [];
    for (const bootId of ['boot-1', 'boot-1', 'boot-2']) {
      const { clock, signal } = fastClock(60_000);
      const source = { name: 'aws lifecycle', everyMs: 5_000, read: () => Promise.resolve([notice]) };
      const notices = await make(source, clock, collectLog(), { bootId, stateDirectory });
      await notices.run(signal);
      kinds.push(notices.addTo(NO, WATCHING).kind);
      const draining = { ...BY_NOTICE, bootId };
      await notices.reconcile(kinds.at(-1) === 'yes' ? draining : WATCHING);
    }
    assert.deepEqual(kinds, ['yes', 'yes', 'no']);
  });

  it('the loop remembers what the disk did not take, and writes it when the disk is in order again', async () => {
    const stateDirectory = await mkdtemp(path.join(folder, 'full-'));
    const fault = new Fault({ from: 1, count: Infinity, code: 'ENOSPC', isOn: (file) => !file.includes('/run') });
    const state = await openTestState(stateDirectory, failingStateDisk(createStateDisk(), fault));
    const memory = await openNoticeMemory(state, 'boot-1', collectLog().log);
    assert.equal(memory.seenAt('n', 7), 7);
    await memory.save();
    assert.match(state.problem() ?? '', /cannot write .*notices\.json: ENOSPC/);
    const restarted = await openNoticeMemory(await openTestState(stateDirectory), 'boot-1', collectLog().log);
    assert.equal(restarted.seenAt('n', 9), 7, 'an agent that is restarted in this boot knows it');
    fault.isRepaired = true;
    await memory.save();
    await state.retry();
    assert.equal(state.problem(), undefined);
    assert.equal(JSON.parse(await readFile(path.join(stateDirectory, 'notices.json'), 'utf8')).seen.n.at, 7);
  });

  it('the loop asks neither the firmware nor a cloud where the configuration says none', async () => {
    const text = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';
    const { log } = collectLog();
    const facts = { manufacturer: 'QEMU', model: '', serial: '', uuid: '', assetTag: '' };
    let asked = 0;
    const readMachineFacts = (): Promise<typeof facts> => {
      asked += 1;
      return Promise.resolve(facts);
    };
    const signal = AbortSignal.timeout(5_000);
    const find = async (more: string): Promise<number> => {
      const config = parseAgentConfig(text + more, 'test');
      return (await findNoticeSources({ config, log, readMachineFacts }, signal)).length;
    };
    assert.equal(await find('cloud: {provider: none}\n'), 0);
    assert.equal(asked, 0);
    assert.equal(await find(''), 0, 'no cloud that is known');
    assert.equal(asked, 1);
    assert.equal(await find('cloud: {provider: gcp}\n'), 4);
  });
});
