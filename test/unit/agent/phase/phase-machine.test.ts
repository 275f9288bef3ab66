import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PhaseMachine } from '../../../../src/agent/phase/phase-machine.ts';
import { type AgentRecord, readRecord } from '../../../../src/agent/phase/record.ts';
import type { PhaseFacts } from '../../../../src/decide/shutdown/phase.ts';
import type { StateFiles } from '../../../../src/host/files/state-files.ts';
import { DRAINING, FACTS, YES } from '../../../support/agent/phase-facts.ts';
import { createRecordingLog, type RecordingLog } from '../../../support/agent/recording-log.ts';
import { openTestState } from '../../../support/agent/state.ts';

const TARGETS = [{ podPriority: 1, podType: 'Default' }] as const;

interface Rig {
  readonly machine: PhaseMachine;
  readonly state: StateFiles;
  readonly log: RecordingLog;
  readonly announced: string[];
  facts: PhaseFacts;
}

async function rigOf(t: TestContext, initial: AgentRecord): Promise<Rig> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-phase-'));
  t.after(() => rm(folder, { recursive: true }));
  const state = await openTestState(folder);
  const log = createRecordingLog();
  const announced: string[] = [];
  const rig = { state, log, announced, facts: { ...FACTS, goingDown: YES } as PhaseFacts };
  const machine = new PhaseMachine(
    { nodeName: 'node-a', state, log, announce: ({ reason }) => announced.push(reason) },
    initial,
  );
  return Object.assign(rig, { machine });
}

describe('the phase machine', () => {
  it('makes a transition durable before it is announced, and names it in the log', async (t) => {
    const rig = await rigOf(t, { phase: { kind: 'watching' }, offlineTargets: [] });
    const transition = await rig.machine.decide(rig.facts);
    assert.equal(transition?.name, 'begin');
    assert.deepEqual((await readRecord(rig.state, assert.fail)).phase, rig.machine.record.phase);
    assert.deepEqual(rig.announced, ['ShutdownHeld']);
    assert.match(rig.log.lines[0] ?? '', /^info shutdown held: .*"transition":"begin"/);
  });

  it('writes and says nothing while the phase stays', async (t) => {
    const rig = await rigOf(t, { phase: DRAINING, offlineTargets: [] });
    assert.equal(await rig.machine.decide(rig.facts), undefined);
    assert.equal(await rig.state.read('record.json'), undefined);
    assert.deepEqual(rig.log.lines, []);
  });

  it('keeps the targets of an offline drain until the shutdown is over', async (t) => {
    const rig = await rigOf(t, { phase: { ...DRAINING, mode: 'offline' }, offlineTargets: [] });
    await rig.machine.saveTargets(TARGETS);
    assert.deepEqual((await readRecord(rig.state, assert.fail)).offlineTargets, TARGETS);
    rig.facts = { ...rig.facts, drained: true };
    assert.equal((await rig.machine.decide(rig.facts))?.name, 'finish');
    assert.deepEqual(rig.machine.record.offlineTargets, TARGETS);
    rig.facts = { ...rig.facts, bootId: 'boot-2' };
    assert.equal((await rig.machine.decide(rig.facts))?.name, 'boot');
    assert.deepEqual((await readRecord(rig.state, assert.fail)).offlineTargets, []);
  });

  it('a shutdown that is taken back after its release is called off with the next decision, and only that one', async (t) => {
    const rig = await rigOf(t, { phase: DRAINING, offlineTargets: [] });
    rig.facts = { ...rig.facts, drained: true };
    assert.equal((await rig.machine.decide(rig.facts))?.name, 'finish');
    assert.equal(await rig.machine.callOff(DRAINING, { canceledBy: 'root' }), false, 'that phase is over');
    rig.facts = { ...rig.facts, drained: false, goingDown: { kind: 'no' } };
    assert.equal(await rig.machine.decide(rig.facts), undefined, 'it was taken back before it was released');
    assert.equal(await rig.machine.callOff(rig.machine.record.phase, { canceledBy: 'root' }), true);
    rig.facts = { ...rig.facts, goingDown: { kind: 'unknown' } };
    assert.equal(await rig.machine.decide(rig.facts), undefined);
    rig.facts = { ...rig.facts, goingDown: { kind: 'no' } };
    assert.equal((await rig.machine.decide(rig.facts))?.name, 'cancel');
  });

  it('that a shutdown was called off is on the disk before it is decided, and in the record after it', async (t) => {
    const rig = await rigOf(t, { phase: DRAINING, offlineTargets: [] });
    assert.equal(await rig.machine.callOff(DRAINING, { canceledBy: 'root', voidLogind: 100 }), true);
    const { phase } = await readRecord(rig.state, assert.fail);
    assert.deepEqual(phase, { ...DRAINING, canceledBy: 'root', voidLogind: 100 });
    rig.facts = { ...rig.facts, goingDown: { kind: 'no', voidLogind: 100 } };
    assert.equal((await rig.machine.decide(rig.facts))?.name, 'cancel');
    const after = (await readRecord(rig.state, assert.fail)).phase;
    assert.ok(after.kind === 'recovering' && after.canceledBy === 'root' && after.voidLogind === 100);
    assert.equal(await rig.machine.callOff(after, { canceledBy: 'root' }), false, 'nothing is held');
  });

  it('takes a release for one drain, not for the next', async (t) => {
    const rig = await rigOf(t, { phase: DRAINING, offlineTargets: [] });
    rig.machine.release('in a hurry');
    rig.facts = { ...rig.facts, goingDown: { kind: 'no' } };
    assert.equal((await rig.machine.decide(rig.facts))?.name, 'cancel', 'it was called off before');
    rig.facts = { ...rig.facts, goingDown: YES };
    assert.equal((await rig.machine.decide(rig.facts))?.name, 'begin');
    assert.equal(await rig.machine.decide(rig.facts), undefined, 'the new one is held');
  });
});
