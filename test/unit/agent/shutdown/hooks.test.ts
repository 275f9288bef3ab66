import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { createHooks, MOMENTS } from '../../../../src/agent/shutdown/hooks.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { TransitionName } from '../../../../src/decide/shutdown/transition.ts';
import { DRAINING } from '../../../support/agent/phase-facts.ts';
import { createRecordingLog, type RecordingLog } from '../../../support/agent/recording-log.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { createSteppingClock, type SteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = AbortSignal.timeout(60_000);
const WATCHING: Phase = { kind: 'watching' };

interface Rig {
  readonly clock: SteppingClock;
  readonly log: RecordingLog;
  /** Writes a program for `pre-drain`. */
  add(name: string, script: string, mode?: number): Promise<void>;
  /** Runs the programs at the begin of a drain; returns the lines that they wrote. */
  begin(phase?: Phase): Promise<readonly string[]>;
}

async function createRig(t: TestContext): Promise<Rig> {
  const folder = await temporaryFolder(t, 'hooks');
  const moment = path.join(folder, 'hooks.d', 'pre-drain');
  await mkdir(moment, { recursive: true, mode: 0o755 });
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const trust = { top: folder, owners: [process.getuid?.() ?? 0] };
  const config = { hooksDirectory: path.dirname(moment), hookTimeoutSec: 5 };
  const hooks = createHooks({ config, nodeName: 'node-a', clock, log, markProgress: () => undefined, trust });
  return {
    clock,
    log,
    add: async (name, script, mode = 0o755) => {
      const file = path.join(moment, name);
      await writeFile(file, `#!/bin/sh\nexec >> ${folder}/out\n${script}\n`);
      await chmod(file, mode);
    },
    begin: async (to = DRAINING) => {
      await hooks.run({ name: 'begin', from: WATCHING, to }, SIGNAL);
      const text = await readFile(path.join(folder, 'out'), 'utf8').catch(() => '');
      return text.split('\n').slice(0, -1);
    },
  };
}

describe('the hooks', () => {
  it('the hooks run at the begin of a drain, at its end and when all is put back', () => {
    const hooksAt = (name: TransitionName): readonly string[] => MOMENTS[name] ?? [];
    assert.deepEqual(hooksAt('begin'), ['pre-drain']);
    for (const end of ['finish', 'force'] as const) assert.deepEqual(hooksAt(end), ['drained', 'pre-release']);
    assert.deepEqual(hooksAt('settle'), ['restored']);
    for (const other of ['rename', 'handOver', 'cancel', 'boot'] as const) assert.deepEqual(hooksAt(other), []);
  });

  it('the programs run in the order of their names and learn of the shutdown', async (t) => {
    const rig = await createRig(t);
    await rig.add('20-second', 'echo "second $NODEMAINT_REASON"');
    await rig.add('10-first', 'echo "first $NODEMAINT_HOOK $NODEMAINT_NODE $NODEMAINT_ORIGIN"');
    await rig.add('.hidden', 'echo hidden');
    assert.deepEqual(await rig.begin(), ['first pre-drain node-a logind', 'second node reboot']);
  });

  it('a program that fails is logged, and the next one runs', async (t) => {
    const rig = await createRig(t);
    await rig.add('10-fails', 'exit 3');
    await rig.add('20-works', 'echo works');
    assert.deepEqual(await rig.begin(), ['works']);
    assert.match(rig.log.lines[0] ?? '', /^warn hook failed .*10-fails/);
  });

  it('a program that other users may write is not run', async (t) => {
    const rig = await createRig(t);
    await rig.add('10-open', 'echo open', 0o777);
    assert.deepEqual(await rig.begin(), []);
    assert.match(rig.log.lines[0] ?? '', /^warn hook not run .*10-open/);
  });

  it('the programs together get a tenth of the time before a deadline, and at least a second', async (t) => {
    const rig = await createRig(t);
    await rig.add('10-stays', 'sleep 600');
    const deadline = { at: rig.clock.now() + 1_000, since: rig.clock.now() };
    const before = performance.now();
    assert.deepEqual(await rig.begin({ ...DRAINING, deadline }), []);
    const took = performance.now() - before;
    assert.ok(took >= 900, `${took} ms`);
    assert.match(rig.log.lines[0] ?? '', /^warn hook failed/);
  });

  it('a folder without programs runs none and logs nothing', async (t) => {
    const rig = await createRig(t);
    assert.deepEqual(await rig.begin(), []);
    assert.deepEqual(rig.log.lines, []);
  });
});
