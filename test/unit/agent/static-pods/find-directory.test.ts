import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { askKubelet, findStaticPods } from '../../../../src/agent/static-pods/find-directory.ts';
import type { KubeletFacts } from '../../../../src/decide/machine/kubelet-config.ts';
import { parseAgentConfig } from '../../../support/agent/config.ts';
import { writeAgentFiles } from '../../../support/agent/files.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { openTestState } from '../../../support/agent/state.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../../support/folder.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { endFakeKubelet, startFakeKubelet } from '../../../support/stand-ins/fake-kubelet.ts';
import { startStaticPodRuntime } from '../../../support/stand-ins/static-pod-runtime.ts';
import { waitFor } from '../../../support/wait-for.ts';

const SIGNAL = new AbortController().signal;
const POD = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: {} });

/** A node whose kubelet takes its static pods from `world.directory`, one of `first` and `second`. */
async function open(t: TestContext) {
  const folder = await makeTestFolder('locator');
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [first, second] = [path.join(folder, 'first', 'pods'), path.join(folder, 'second', 'pods')];
  for (const directory of [first, second]) {
    await mkdir(directory, { recursive: true });
    await writeFile(path.join(directory, 'web.yaml'), POD);
  }
  const config = {
    ...parseAgentConfig(
      '{apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1, kind: AgentConfiguration}',
      'agent.yaml',
    ),
    stateDirectory: path.join(folder, 'state'),
    runDirectory: path.join(folder, 'run'),
  };
  const log = createRecordingLog();
  const state = await openTestState(config.stateDirectory);
  const world = { directory: first, hasStaticPodUrl: false };
  const find = () =>
    Promise.resolve({
      pid: 7,
      staticPodPath: world.directory,
      hasStaticPodUrl: world.hasStaticPodUrl,
      shutdownGracePeriodMs: 0,
      shutdownGracePeriodCriticalPodsMs: 0,
      shutdownGracePeriodByPodPriority: [],
    } as unknown as KubeletFacts);
  const dependencies = { config, state, find, log };
  return { first, second, config, log, world, dependencies };
}

describe('the locator of the static pods', () => {
  it('the locator follows the kubelet to another directory', async (t) => {
    const { first, second, world, dependencies } = await open(t);
    const locator = await (await findStaticPods(dependencies, 'node-a', SIGNAL)).open();
    assert.equal(locator.store().paths.staticPodPath, first);
    world.directory = second;
    await locator.relocate(SIGNAL);
    assert.equal(locator.store().paths.staticPodPath, second);
  });

  it('the locator warns of a kubelet that takes static pods from a URL, and logs it once', async (t) => {
    const { world, dependencies, log } = await open(t);
    const locator = await (await findStaticPods(dependencies, 'node-a', SIGNAL)).open();
    assert.deepEqual(locator.warnings(), []);
    world.hasStaticPodUrl = true;
    for (const expected of [1, 1]) {
      await locator.relocate(SIGNAL);
      assert.match(locator.warnings().join('; '), /takes static pods from a URL/);
      assert.equal(log.lines.length, expected);
    }
    world.hasStaticPodUrl = false;
    await locator.relocate(SIGNAL);
    assert.deepEqual(locator.warnings(), []);
  });

  it('the locator stays with the directory whose manifests are parked, over a restart too', async (t) => {
    const { first, second, world, dependencies, log } = await open(t);
    const locator = await (await findStaticPods(dependencies, 'node-a', SIGNAL)).open();
    const step = { op: 'park', file: 'web.yaml', sha256: '', maintenance: 'm', at: 1, bootId: 'b' } as const;
    await locator.store().mover.park(step);
    assert.deepEqual(await readdir(first), []);
    world.directory = second;
    await locator.relocate(SIGNAL);
    assert.equal(locator.store().paths.staticPodPath, first);
    assert.equal((await findStaticPods(dependencies, 'node-a', SIGNAL)).paths.staticPodPath, first);
    assert.match(log.lines.join('\n'), /has changed while manifests are parked/);
  });

  it('the locator names a file that is no manifest, and refuses a configured directory that is missing', async (t) => {
    const { first, config, log, dependencies } = await open(t);
    await writeFile(path.join(first, 'notes.yaml'), 'kind: Note');
    await findStaticPods(dependencies, 'node-a', SIGNAL);
    assert.match(log.lines.join('\n'), /notes\.yaml/);
    const missing = { ...config, staticPodPath: path.join(first, 'missing') };
    await assert.rejects(findStaticPods({ ...dependencies, config: missing }, 'node-a', SIGNAL), {
      code: 'STATIC_POD_DIRECTORY_MISSING',
    });
  });

  it('a kubelet whose configuration cannot be read counts as none, unless the agent is to end', async () => {
    const fail = () => Promise.reject(new Error('unreadable'));
    assert.equal(await askKubelet(fail, SILENT_LOG, SIGNAL), undefined);
    await assert.rejects(askKubelet(fail, SILENT_LOG, AbortSignal.abort(new Error('the agent ends'))), /agent ends/);
  });
});

const NODE = 'place-of-static-pods';
const MANIFEST = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: {} });

/** A kubelet that takes its static pods from `directory`; `folder` is for its own files. */
async function startKubelet(folder: string, directory: string): Promise<ChildProcess> {
  const flags = [`--hostname-override=${NODE}`, `--pod-manifest-path=${directory}`, '--healthz-port=0'];
  return await startFakeKubelet(folder, flags);
}

describe('the agent of a node whose kubelet is restarted with another static pod directory', () => {
  it('the agent drains the directory that the kubelet has then', async () => {
    await using stack = new AsyncDisposableStack();
    const { signal } = new AbortController();
    const folder = await makeTestFolder('place');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const [first, second] = [path.join(folder, 'first', 'pods'), path.join(folder, 'second', 'pods')];
    for (const directory of [first, second]) {
      await mkdir(directory, { recursive: true });
      await writeFile(path.join(directory, 'web.yaml'), MANIFEST);
    }
    const socketPath = path.join(folder, 'cri.sock');
    stack.use(await startStaticPodRuntime({ staticPodPath: second, socketPath, nodeName: NODE }, signal));
    const keys = { nodeName: NODE, staticPodPath: undefined, kubeletHealthz: undefined };
    const { configFile, runDirectory } = await writeAgentFiles(folder, keys);
    let kubelet = await startKubelet(folder, first);
    stack.defer(() => endFakeKubelet(kubelet));
    const log = path.join(folder, 'agent.log');
    const agent = stack.use(startNodemaint(['agent', '--config', configFile], log));
    const phase = async (): Promise<string> => (await readAgentStatus(runDirectory)).phase.kind;
    const options = { timeoutMs: 30_000, program: agent };
    await waitFor('the agent watches', async () => (await phase()) === 'watching', { ...options, signal });
    assert.match(await readFile(log, 'utf8'), new RegExp(`"staticPodPath":"${first}"`));

    await endFakeKubelet(kubelet);
    kubelet = await startKubelet(folder, second);
    await runNodemaint(['trigger', '--reason', 'test', '--run-directory', runDirectory]);
    await waitFor('the machine is released', async () => (await phase()) === 'released', { ...options, signal });
    assert.deepEqual(await readdir(first), ['web.yaml']);
    assert.deepEqual(await readdir(second), []);
    assert.deepEqual(await readdir(path.join(folder, 'second', 'nodemaint-parked')), ['web.yaml']);
  });
});
