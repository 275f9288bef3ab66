/**
 * Every write of a drain fails in turn, once and for good, as on a full, a read-only and a broken disk: the drain still
 * ends in order, no manifest is lost, and when the disk is in order again everything is put back.
 */
import assert from 'node:assert/strict';
import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { OfflinePods } from '../../src/agent/drain/offline/stop-pods.ts';
import { openDrain } from '../../src/agent/drain-parts.ts';
import { type AgentRecord, readRecord, RECORD_FILE, writeRecord } from '../../src/agent/phase/record.ts';
import { StaticPods, type StaticPodIntent } from '../../src/agent/static-pods/static-pods.ts';
import { phaseAtStart } from '../../src/decide/shutdown/lost-record.ts';
import { keepsParked } from '../../src/decide/static-pod/parked.ts';
import type { Phase } from '../../src/decide/shutdown/phase.ts';
import { createKubeletUnit } from '../../src/host/kubelet/unit.ts';
import { createStateDisk, openStateFiles, type StateFiles } from '../../src/host/files/state-files.ts';
import { Mover } from '../../src/static-pods/mover.ts';
import { DISK_ERRORS, type Failure, failingDisk, failingStateDisk, Fault } from '../support/disks/failing-disk.ts';
import { createQuickDisk } from '../support/disks/quick-disk.ts';
import { manifestOf, PRIORITIES, SimulatedNode } from '../support/stand-ins/simulated-node.ts';
import { createQuickFolder } from '../support/disks/quick-folder.ts';
import { SILENT_LOG } from '../support/silent-log.ts';

const CONFIG = { drainPlan: [], maxVolumeWaitSec: 0, progressWaitSec: 300 };
const SHUTDOWN = { maintenance: 'shutdown-n-1', mode: 'offline', origin: 'logind', reason: 'r', since: 1 } as const;
/** Far more iterations than any drain takes. */
const MOST_TURNS = 60;
const TIER_COST_MS = 1_000;

/** The parts of an agent that write, on a disk that fails. */
interface Parts {
  readonly state: StateFiles;
  readonly mover: Mover;
  readonly record: AgentRecord;
}

async function startAgent(node: SimulatedNode, fault: Fault): Promise<Parts> {
  const { root, paths } = node;
  const places = { directory: path.join(root, 'state'), runDirectory: path.join(root, 'run') };
  const state = await openStateFiles({ ...places, disk: failingStateDisk(createStateDisk(), fault) });
  const disk = failingDisk(createQuickDisk(), fault);
  const mover = new Mover(paths, disk);
  await mover.recover();
  const recorded = await readRecord(state, assert.fail);
  return {
    state,
    mover,
    record: { ...recorded, phase: phaseAtStart(recorded.phase, mover.parkSteps().values(), node.bootId) },
  };
}

/** Drains as the agent does without an API server; dies after `dieAfter` iterations. Returns whether it came to its end. */
async function drain(node: SimulatedNode, fault: Fault, dieAfter = MOST_TURNS): Promise<boolean> {
  const { signal } = new AbortController();
  const parts = await startAgent(node, fault);
  const { state, mover } = parts;
  const clock = { now: () => node.now, monotonic: () => node.now, sleep: () => Promise.resolve() };
  const choose = () => Promise.resolve({ kind: 'unit', unit: 'kubelet.service' } as const);
  const kubelet = createKubeletUnit(node.units, { choose, state, bootId: node.bootId });
  const { runtime } = node;
  const knownPods = {
    read: () => Promise.resolve({ pods: new Map() }),
    refresh: () => Promise.resolve(),
    save: () => Promise.resolve(),
  };
  const onChange = (): void => undefined;
  const pods = new OfflinePods({ runtime, kubelet, knownPods, clock, log: SILENT_LOG, onChange }, signal);
  const staticPods = new StaticPods({
    store: () => ({
      paths: node.paths,
      disk: createQuickDisk(),
      mover,
      check: () => Promise.resolve(undefined),
      refusal: () => undefined,
    }),
    nodeName: 'n',
    bootId: node.bootId,
    runtime,
    kubeletUp: () => Promise.resolve(true),
    kubelet,
    clock,
    log: SILENT_LOG,
  });
  const machine = { offlinePods: pods, staticPods, runtime, clock, log: SILENT_LOG };
  const drain = openDrain({ ...machine, config: CONFIG, cluster: undefined, announce: () => undefined }, signal);
  let record: AgentRecord = { ...parts.record };
  const save = async (next: AgentRecord): Promise<void> => {
    record = next;
    await writeRecord(state, next);
  };
  if (record.phase.kind !== 'draining') {
    await save({ phase: { kind: 'draining', ...SHUTDOWN, bootId: node.bootId }, offlineTargets: [] });
  }
  for (let iteration = 0; iteration < dieAfter; iteration += 1) {
    const view = await staticPods.observe(signal);
    const keepParked = (): boolean => true;
    const saveTargets = (offlineTargets: AgentRecord['offlineTargets']): Promise<void> =>
      save({ ...record, offlineTargets });
    const leaving = await drain.pass({ record, view, retention: {} as never, keepParked, saveTargets }, signal);
    if (leaving.drained) {
      await save({ ...record, phase: { ...record.phase, kind: 'released', releasedAt: node.now } as Phase });
      return true;
    }
    const intent: StaticPodIntent = { ...leaving, keepParked, shutdown: SHUTDOWN.maintenance };
    const decision = await staticPods.decide(view, intent, signal);
    await staticPods.act(view, decision, SHUTDOWN.maintenance, signal);
    await new Promise(setImmediate);
    await node.sync();
    node.now += TIER_COST_MS;
  }
  return false;
}

/** After the boot: restores what is not to stay parked, without an API server. */
async function putBack(node: SimulatedNode, fault: Fault): Promise<void> {
  const { mover, record } = await startAgent(node, fault);
  // As decidePhase has it.
  const phase: Phase =
    record.phase.kind === 'draining' || record.phase.kind === 'released'
      ? { ...record.phase, kind: 'recovering', cause: 'boot' }
      : record.phase;
  const facts = { phase, onBoot: 'complete', clusterConfigured: true, own: [], drains: undefined } as const;
  for (const file of (await readdir(node.paths.parkedPath).catch(() => [])).filter((name) => !name.startsWith('.'))) {
    const maintenance = mover.parkSteps().get(file)?.maintenance ?? '';
    const found = keepsParked({ maintenance, priority: 0, labels: {} }, { ...facts, apiSilent: true });
    assert.equal(found, false, `${file} would wait for an API server`);
    await mover.restore(file);
  }
}

async function assertWhole(node: SimulatedNode): Promise<void> {
  const { staticPodPath, parkedPath } = node.paths;
  assert.deepEqual((await readdir(staticPodPath)).sort(), Object.keys(PRIORITIES));
  const parked = await readdir(parkedPath).catch((): string[] => []);
  // Older copies may lie in .superseded.
  const found = parked.filter((name) => !name.startsWith('.'));
  assert.deepEqual(found, []);
  for (const [file, priority] of Object.entries(PRIORITIES)) {
    assert.equal(await readFile(path.join(staticPodPath, file), 'utf8'), manifestOf(file, priority));
  }
}

interface Variant {
  readonly isOn: (root: string) => (file: string) => boolean;
  /** Whether manifests move all the same, so that the kubelet ends their pods. */
  readonly moves: boolean;
}

/** The disks that break: what the state directory is on, what the manifests are on, and all there is but /run. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  'the state directory': { isOn: (root) => (file) => file.startsWith(path.join(root, 'state')), moves: true },
  'the record alone, as on a full disk where the journal has room': {
    isOn: (root) => (file) => file === path.join(root, 'state', RECORD_FILE),
    moves: true,
  },
  'the only disk': { isOn: (root) => (file) => !file.startsWith(path.join(root, 'run')), moves: false },
};

async function breakEverywhere(t: TestContext, { isOn, moves }: Variant, dies: boolean): Promise<void> {
  const base = await createQuickFolder('broken');
  t.after(() => rm(base, { recursive: true }));
  let cases = 0;
  for (const code of DISK_ERRORS) {
    for (const count of [1, Number.POSITIVE_INFINITY]) {
      for (let from = 1, isOver = false; !isOver; from += 1) {
        const root = path.join(base, `${code}-${count}-${from}`);
        const node = new SimulatedNode(root);
        await node.prepare();
        const failure: Failure = { from, count, code, isOn: isOn(root) };
        const fault = new Fault(failure);
        const what = `${code} at write ${from}${count === 1 ? '' : ' and from then on'}`;
        try {
          if (dies) {
            await drain(node, fault, 2);
            const { record } = await startAgent(node, fault);
            assert.equal(record.phase.kind, 'draining', 'the next agent knows that a shutdown is held');
          }
          assert.equal(await drain(node, fault), true, 'the drain ends');
          assert.deepEqual(node.running, []);
          assert.deepEqual([...new Set(node.ended)], Object.keys(PRIORITIES), 'in order');
          if (!dies) assert.equal(node.ended.length, 2, 'each ends once');
          if (moves) assert.deepEqual(await readdir(node.paths.staticPodPath), [], 'moved all the same');
          fault.isRepaired = true;
          await node.boot();
          await putBack(node, fault);
          await node.sync();
          await assertWhole(node);
          assert.deepEqual(node.running, Object.keys(PRIORITIES));
        } catch (error) {
          throw new Error(what, { cause: error });
        }
        isOver = fault.failed === 0;
        cases += 1;
        await rm(root, { recursive: true });
      }
    }
  }
  t.diagnostic(`${cases} cases`);
}

describe('a drain in which each write fails in turn, once and for good', () => {
  for (const [name, variant] of Object.entries(VARIANTS)) {
    it(`a drain on ${name} loses no manifest`, (t) => breakEverywhere(t, variant, false));
    it(`a drain on ${name} whose agent is killed in the middle loses no manifest`, (t) =>
      breakEverywhere(t, variant, true));
  }
});
