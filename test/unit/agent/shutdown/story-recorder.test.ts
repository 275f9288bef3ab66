import assert from 'node:assert/strict';
import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { MAX_STORIES, openStoryFiles, storyDirectory } from '../../../../src/agent/shutdown/story-files.ts';
import {
  openStoryRecorder,
  type StoryRecorder,
  type IterationObservation,
} from '../../../../src/agent/shutdown/story-recorder.ts';
import type { Iteration } from '../../../../src/agent/iteration/step.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { begunStory } from '../../../../src/decide/story/story.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SHUTDOWN = { maintenance: 'm', mode: 'cluster', origin: 'trigger', reason: 'why', bootId: 'b' } as const;
const NONE: IterationObservation = { waitingFor: [], tier: undefined, parked: [] };
const SOME: IterationObservation = {
  ...NONE,
  waitingFor: [{ wait: 'manifest', what: 'a/web', on: 'kubelet', message: 'is terminating' }],
};

function draining(since: number): Extract<Phase, { kind: 'draining' }> {
  return { kind: 'draining', since, ...SHUTDOWN };
}

/** What an iteration of the agent tells the recorder. */
function iteration(recorder: StoryRecorder, told: Iteration, observation: IterationObservation): void {
  recorder.recordTransition(told);
  recorder.recordProgress(told, observation);
}

describe('the files of the shutdown stories', () => {
  it('the last stories are kept for root only, the newest first', async (t: TestContext) => {
    const folder = await temporaryFolder(t, 'story');
    const files = openStoryFiles(folder);
    assert.deepEqual(await files.list(), []);
    for (let since = 1; since <= MAX_STORIES + 5; since += 1) await files.write(begunStory('n', draining(since)));
    const times = await files.list();
    assert.deepEqual([times.length, times[0]], [MAX_STORIES, MAX_STORIES + 5]);
    const directory = storyDirectory(folder);
    assert.equal((await stat(directory)).mode & 0o777, 0o700);
    assert.equal((await stat(path.join(directory, `${MAX_STORIES}.json`))).mode & 0o777, 0o600);
    assert.equal((await files.read(MAX_STORIES))?.begunAt, MAX_STORIES);
  });

  it('a file that is no story is read as none, whatever is in it', async (t: TestContext) => {
    const folder = await temporaryFolder(t, 'story');
    const files = openStoryFiles(folder);
    const directory = storyDirectory(folder);
    await mkdir(directory);
    const good = { version: 1, ...begunStory('n', draining(1)) };
    const bad: Readonly<Record<string, string>> = {
      '1.json': '{',
      '2.json': JSON.stringify({ ...good, version: 2 }),
      '3.json': JSON.stringify({ ...good, begunAt: 1e300 }),
      '4.json': JSON.stringify({ ...good, reason: 'x'.repeat(1_000_000) }),
      '5.json': ' '.repeat(5 * 1024 * 1024),
      '6.json': JSON.stringify({ ...good, pods: [{ pod: 'a/b', askedAt: null, waits: [] }] }),
    };
    for (const [name, text] of Object.entries(bad)) await writeFile(path.join(directory, name), text);
    await symlink('/dev/zero', path.join(directory, '7.json'));
    await mkdir(path.join(directory, '8.json'));
    for (const begunAt of await files.list()) assert.equal(await files.read(begunAt), undefined, String(begunAt));
    assert.equal((await files.list()).length, 8);
  });
});

describe('the recorder of a shutdown', () => {
  it('the recorder writes a shutdown to its release, and goes on with it after a boot', async (t: TestContext) => {
    const folder = await temporaryFolder(t, 'story');
    const files = openStoryFiles(folder);
    const clock = createSteppingClock();
    const dependencies = { nodeName: 'n', files, clock, log: SILENT_LOG };
    const since = clock.now();
    const watching: Phase = { kind: 'watching' };
    const first = await openStoryRecorder(dependencies, watching);
    const phase = draining(since);
    iteration(first, { phase, transition: { name: 'begin', from: watching, to: phase } }, NONE);
    clock.pass(10_000);
    iteration(first, { phase, transition: undefined }, { ...SOME, kubeletEnds: true, budgetsNotAsked: true });
    clock.pass(20_000);
    iteration(first, { phase, transition: undefined }, { ...NONE, parked: ['etcd.yaml'] });
    const released: Phase = { ...phase, kind: 'released', releasedAt: since + 30_000 };
    const parked = { ...NONE, parked: ['etcd.yaml'] };
    iteration(first, { phase: released, transition: { name: 'finish', from: phase, to: released } }, parked);
    await first.run(AbortSignal.abort());

    clock.pass(60_000);
    const second = await openStoryRecorder(dependencies, released);
    const recovering: Phase = { ...phase, kind: 'recovering', cause: 'boot' };
    iteration(second, { phase: recovering, transition: { name: 'boot', from: released, to: recovering } }, parked);
    iteration(second, { phase: recovering, transition: undefined }, NONE);
    iteration(second, { phase: watching, transition: { name: 'settle', from: recovering, to: watching } }, NONE);
    await second.run(AbortSignal.abort());

    const story = await files.read(since);
    assert.deepEqual(
      story?.events.map(({ at, what }) => [what, at - since]),
      [
        ['begin', 0],
        ['finish', 30_000],
        ['boot', 90_000],
        ['settle', 90_000],
      ],
    );
    assert.deepEqual(
      story.pods.map(({ pod, askedAt, goneAt }) => [pod, askedAt - since, (goneAt ?? 0) - since]),
      [['a/web', 10_000, 30_000]],
    );
    assert.deepEqual(story.returned, [{ what: 'etcd.yaml', at: since + 90_000 }]);
    assert.equal(story.kubeletEnds, true, 'its lock was seen once');
    assert.equal(story.budgetsNotAsked, true, 'once for the whole shutdown');
    assert.equal((await readdir(storyDirectory(folder))).length, 1);
  });

  it('a disk that takes nothing keeps no iteration waiting, and is told once', async () => {
    const log = createRecordingLog();
    const clock = createSteppingClock();
    const write = (): Promise<void> => Promise.reject(new Error('no room'));
    const files = { read: () => Promise.resolve(undefined), write };
    const recorder = await openStoryRecorder({ nodeName: 'n', files, clock, log }, { kind: 'watching' });
    const phase = draining(clock.now());
    for (let count = 0; count < 20; count += 1) {
      iteration(recorder, { phase, transition: undefined }, { ...SOME, parked: [String(count)] });
      clock.pass(6_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await recorder.run(AbortSignal.abort());
    assert.equal(log.lines.filter((line) => line.includes('story')).length, 1);
  });

  it('a write that hangs does not keep the agent from its end', async () => {
    const clock = createSteppingClock();
    const write = (): Promise<void> => new Promise(() => undefined);
    const files = { read: () => Promise.resolve(undefined), write };
    const recorder = await openStoryRecorder({ nodeName: 'n', files, clock, log: SILENT_LOG }, { kind: 'watching' });
    iteration(recorder, { phase: draining(clock.now()), transition: undefined }, SOME);
    await recorder.run(AbortSignal.abort());
  });
});
