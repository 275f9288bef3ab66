import assert from 'node:assert/strict';
import { chmod, chown, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createHooks, type HookName } from '../../../src/agent/shutdown/hooks.ts';
import type { Phase } from '../../../src/decide/shutdown/phase.ts';
import type { TransitionName } from '../../../src/decide/shutdown/transition.ts';
import { createSystemClock } from '../../../src/host/clock.ts';

const SIGNAL = AbortSignal.timeout(60_000);
const WATCHING: Phase = { kind: 'watching' };
const SHUTDOWN = {
  maintenance: 'm',
  mode: 'offline',
  origin: 'notice',
  reason: 'spot',
  since: 1,
  bootId: 'b',
  deadline: { at: Date.parse('2030-01-01T00:00:00Z'), since: 1 },
} as const;
const DRAINING: Phase = { kind: 'draining', ...SHUTDOWN };
const RELEASED: Phase = { kind: 'released', releasedAt: 2, ...SHUTDOWN };
const RECOVERING: Phase = { kind: 'recovering', cause: 'boot', ...SHUTDOWN };

describe('the hooks of phase changes', () => {
  let folder: string;
  let directory: string;
  let lines: string[];
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-hooks-'));
    directory = path.join(folder, 'hooks.d');
    await mkdir(directory, { mode: 0o755 });
    lines = [];
  });

  const add = async (moment: HookName, name: string, script: string, mode = 0o755): Promise<string> => {
    await mkdir(path.join(directory, moment), { recursive: true, mode: 0o755 });
    const file = path.join(directory, moment, name);
    await writeFile(file, `#!/bin/sh\n${script}\n`);
    await chmod(file, mode);
    return file;
  };
  const change = async (name: TransitionName, from: Phase, to: Phase, timeoutMs = 5_000): Promise<string> => {
    const note = (fields: object, message: string): void => {
      lines.push(`${message}: ${JSON.stringify(fields)}`);
    };
    const log = { debug: note, info: note, warn: note, error: note };
    const trust = { top: folder, owners: [0] };
    const config = { hooksDirectory: directory, hookTimeoutSec: timeoutMs / 1000 };
    const parts = { config, nodeName: 'node-a', clock: createSystemClock(), log, markProgress: () => undefined };
    const hooks = createHooks({ ...parts, trust });
    await hooks.run({ name, from, to }, SIGNAL);
    return await readFile(path.join(folder, 'out'), 'utf8').catch(() => '');
  };

  it('the hooks of a transition run in the order of their names, and learn what happens', async () => {
    const tell = `echo "$(basename $0) $NODEMAINT_HOOK $NODEMAINT_NODE $NODEMAINT_REASON $NODEMAINT_DEADLINE" >> ${folder}/out`;
    for (const moment of ['pre-drain', 'drained', 'pre-release', 'restored'] as const) await add(moment, '20', tell);
    await add('drained', '10', tell);
    await add('drained', '.hidden', tell);
    await change('begin', WATCHING, DRAINING);
    await change('handOver', DRAINING, { ...DRAINING, mode: 'cluster' });
    await change('finish', DRAINING, RELEASED);
    await change('boot', RELEASED, RECOVERING);
    const out = await change('settle', RECOVERING, WATCHING);
    const about = 'node-a spot 2030-01-01T00:00:00Z';
    assert.deepEqual(out.trim().split('\n'), [
      `20 pre-drain ${about}`,
      `10 drained ${about}`,
      `20 drained ${about}`,
      `20 pre-release ${about}`,
      `20 restored ${about}`,
    ]);
  });

  it('a hook delays the shutdown no longer than its time, and its failure is only logged', async () => {
    await add('pre-drain', '10-fails', 'echo broken >&2; exit 3');
    await add('pre-drain', '20-hangs', 'sleep 600 & wait');
    await add('pre-drain', '30-late', `echo late >> ${folder}/out`);
    assert.equal(await change('begin', WATCHING, DRAINING, 1_000), '');
    assert.match(lines.join('\n'), /hook failed.*10-fails.*broken/);
    assert.match(lines.join('\n'), /hook failed.*20-hangs.*killed after/);
    assert.match(lines.join('\n'), /time of all hooks is over.*30-late/);
  });

  it('no hook runs that users other than root could have written', async () => {
    const tell = `echo run >> ${folder}/out`;
    await add('pre-drain', 'group-writable', tell, 0o775);
    await chown(await add('pre-drain', 'foreign', tell), 65_534, 65_534);
    assert.equal(await change('begin', WATCHING, DRAINING), '');
    await add('drained', 'good', tell);
    await chmod(path.join(directory, 'drained'), 0o777);
    assert.equal(await change('finish', DRAINING, RELEASED), '');
    assert.equal(lines.filter((line) => line.startsWith('hook not run')).length, 3);
  });

  it('a hook is killed with all that it has started when its time is over', async () => {
    await add('pre-drain', 'hangs', `(sleep 2; echo grandchild >> ${folder}/out) & sleep 60`);
    await change('begin', WATCHING, DRAINING, 1_000);
    await delay(2_500);
    assert.equal(await readFile(path.join(folder, 'out'), 'utf8').catch(() => ''), '');
  });

  it('a hook may print as much as it likes, and leave a process running', async (t) => {
    const noise = 'head -c 5000000 /dev/zero | tr "\\0" x';
    await add('pre-drain', '10-noisy', `${noise}; ${noise} >&2; echo said >> ${folder}/out`);
    await add('pre-drain', '20-daemon', `(sleep 1; echo later >> ${folder}/out) & echo left >> ${folder}/out`);
    const startedAt = performance.now();
    assert.equal(await change('begin', WATCHING, DRAINING), 'said\nleft\n');
    t.diagnostic(`${performance.now() - startedAt} ms`);
    await delay(1_500);
    assert.equal(await readFile(path.join(folder, 'out'), 'utf8'), 'said\nleft\nlater\n');
    assert.equal(lines.filter((line) => line.startsWith('hook done')).length, 2);
  });

  it('no hook runs through a link that another user could change', async () => {
    const tell = await add('pre-drain', 'real', `echo run >> ${folder}/out`);
    const open = path.join(folder, 'open');
    await mkdir(open);
    await chmod(open, 0o777);
    await rename(tell, path.join(open, 'real'));
    await symlink(path.join(open, 'real'), tell);
    assert.equal(await change('begin', WATCHING, DRAINING), '');
    assert.match(lines.join('\n'), /hook not run.*open is not trusted: everybody may write to it/);
  });

  it('the agent works without a directory of hooks', async () => {
    await rm(directory, { recursive: true });
    assert.equal(await change('begin', WATCHING, DRAINING), '');
    assert.deepEqual(lines, []);
  });
});
