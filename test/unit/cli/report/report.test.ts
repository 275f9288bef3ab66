import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { drawSvg } from '../../../../src/cli/report/svg.ts';
import { axisStepMs } from '../../../../src/cli/report/words.ts';
import { begunStory, type ShutdownStory, withObservation } from '../../../../src/decide/story/story.ts';
import { timelineOf } from '../../../../src/show/story/timeline.ts';
import { inSandbox, withAgent } from '../../../support/agent/sandbox.ts';
import { runNodemaint } from '../../../support/commands/nodemaint.ts';
import { waitFor } from '../../../support/wait-for.ts';

const START = Date.UTC(2026, 0, 1);
const EVIL = '"><script>alert(1)</script>&amp;\u001B[2J\u202E\uFFFE\uD800';

/** A line of the agent's log about a transition; the moments of the phase are in milliseconds since the epoch. */
interface LoggedTransition {
  readonly time: string;
  readonly transition: string;
  readonly phase: { readonly since?: number; readonly releasedAt?: number };
}

function story(pods: number): ShutdownStory {
  const shutdown = { maintenance: 'm', mode: 'cluster', origin: 'logind', reason: EVIL, since: START, bootId: 'b' };
  let so = begunStory('n', { ...shutdown, mode: 'cluster', origin: 'logind' });
  const waits = { wait: 'controller' as const, on: EVIL, message: `${EVIL} waits` };
  const waitingFor = Array.from({ length: pods }, (_, index) => ({ what: `a/${index}${EVIL}`, ...waits }));
  for (const sec of [1, 100]) so = withObservation(so, { at: START + sec * 1000, tier: undefined, waitingFor });
  return withObservation(so, { at: START + 200_000, tier: undefined, waitingFor: [] });
}

/** The names of the open elements; throws where one is closed that is not the last open one. */
function openElements(markup: string): readonly string[] {
  const open: string[] = [];
  for (const [, end = '', name = '', rest = ''] of markup.matchAll(/<(\/?)([a-zA-Z][\w-]*)([^<>]*)>/g)) {
    if (end === '/') assert.equal(open.pop(), name);
    else if (!rest.endsWith('/')) open.push(name);
  }
  return open;
}

describe('the report of a shutdown', () => {
  for (const pods of [0, 3, 500]) {
    const line = timelineOf(story(pods), START + 300_000);

    it(`a picture of ${pods} pods is well formed, loads nothing, and says texts from outside as texts`, () => {
      const text = drawSvg(line);
      assert.deepEqual(openElements(text), []);
      assert.doesNotMatch(text, /<script|javascript:|\son\w+=|href=|src=|url\(|@import/i);
      assert.doesNotMatch(text.replaceAll(/[\n]/g, ''), /[\p{Cc}\p{Cf}\uFFFE]/u);
      assert.ok(text.isWellFormed());
      assert.match(text, /prefers-color-scheme:dark/);
      assert.doesNotMatch(text, /var\(/);
      const urls = [...text.matchAll(/https?:\/\/[^"'\s<]+/g)].map(([url]) => url);
      assert.deepEqual(new Set(urls), new Set(['http://www.w3.org/2000/svg']));
      assert.doesNotMatch(text, /NaN|Infinity|undefined/);
    });
  }

  it('the axis has round steps, of which few fit', () => {
    const steps = [10_000, 291_000, 86_400_000].map((ms) => axisStepMs(ms, 8));
    assert.deepEqual(steps, [2_000, 60_000, 21_600_000]);
  });
});

describe('the report of an agent', () => {
  it('the report of a shutdown says the same times as the log of the agent', async () => {
    await inSandbox(async (sandbox) => {
      const { configFile, runDirectory } = sandbox;
      const flags = ['--run-directory', runDirectory];
      const text = await withAgent(sandbox, async () => {
        assert.equal((await runNodemaint(['trigger', '--reason', 'a test', ...flags])).code, 0);
        const phase = async (): Promise<string> => (await runNodemaint(['status', '-o', 'json', ...flags])).stdout;
        await waitFor('the shutdown is released', async () => (await phase()).includes('"kind": "released"'));
      });
      const transitions = text
        .split('\n')
        .filter((line) => line.includes('"transition"'))
        .map((line) => JSON.parse(line) as LoggedTransition);
      const logged = (name: string): LoggedTransition => {
        const found = transitions.find(({ transition }) => transition === name);
        assert.ok(found, text);
        return found;
      };
      const { stdout, stderr } = await runNodemaint(['report', '-o', 'json', '--config', configFile]);
      const report = JSON.parse(stdout) as { kind: string; began: string; ended: string; heldSeconds: number };
      assert.equal(report.kind, 'ShutdownReport', stderr);
      const [begin, finish] = [logged('begin'), logged('finish')];
      const { since = NaN, releasedAt = NaN } = finish.phase;
      assert.equal(begin.phase.since, since);
      const shown = [Date.parse(report.began), Date.parse(report.ended), Math.round(report.heldSeconds * 1000)];
      assert.deepEqual(shown, [since, releasedAt, releasedAt - since], `${stdout}\n${text}`);
      // A line is written after its decision is on the disk, which a busy disk delays.
      for (const [mine, { time }] of [
        [report.began, begin],
        [report.ended, finish],
      ] as const) {
        assert.ok(Date.parse(mine) <= Date.parse(time), `${mine} ${time}`);
      }
      const list = await runNodemaint(['history', '--config', configFile]);
      assert.match(list.stdout, /^1 +20\S+Z +.*a test: every pod has left, and the machine may go down$/m, list.stderr);
      const wrong = await runNodemaint(['report', '7', '--config', configFile]);
      assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
      assert.match(wrong.stderr, /there is no shutdown 7: 1 are recorded; list them with: nodemaint history/);
    });
  });

  it('a cancel after the pods have left is true at once, to the status, the history and the next trigger', async () => {
    await inSandbox(async (sandbox) => {
      const { configFile, runDirectory } = sandbox;
      const flags = ['--run-directory', runDirectory];
      const trigger = ['trigger', '--reason', 'a test', ...flags];
      const phaseIs = async (kind: string): Promise<boolean> =>
        (await runNodemaint(['status', '-o', 'json', ...flags])).stdout.includes(`"kind": "${kind}"`);
      await withAgent(sandbox, async () => {
        assert.match((await runNodemaint(['cancel', ...flags])).stdout, /^No shutdown is announced/);
        assert.match((await runNodemaint(trigger)).stdout, /^The agent is draining this node/);
        await waitFor('the shutdown is released', () => phaseIs('released'));
        assert.match((await runNodemaint(trigger)).stdout, /^Nothing is drained again: drained: the machine may go/);
        assert.match((await runNodemaint(['cancel', ...flags])).stdout, /^The shutdown is canceled/);
        await waitFor('no shutdown is known any more', () => phaseIs('watching'), { timeoutMs: 30_000 });
        assert.match((await runNodemaint(trigger)).stdout, /^The agent is draining this node/);
        await waitFor('the next shutdown is released', () => phaseIs('released'));
      });
      const { stdout } = await runNodemaint(['history', '--config', configFile]);
      assert.match(stdout, /^1 .*a test: every pod has left, and the machine may go down$/m);
      assert.match(stdout, /^2 .*a test: the shutdown was called off after every pod had left$/m);
    });
  });
});
