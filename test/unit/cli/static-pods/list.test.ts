import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { StaticPodEntry } from '../../../../src/show/static-pod-list.ts';
import { formatStep, parseJournal } from '../../../../src/static-pods/journal/journal.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../../support/folder.ts';
import { writeAgentFiles } from '../../../support/agent/files.ts';
import { startStaticPodRuntime } from '../../../support/stand-ins/static-pod-runtime.ts';
import { waitFor } from '../../../support/wait-for.ts';

const MANIFEST = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web' },
  spec: { terminationGracePeriodSeconds: 5, priorityClassName: 'system-node-critical', containers: [] },
});

/** A machine with two static pods, whose kubelet and runtime are those of the demo. */
async function createMachine(stack: AsyncDisposableStack) {
  const { signal } = new AbortController();
  const folder = await makeTestFolder('by-hand');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const staticPodPath = path.join(folder, 'manifests');
  const socketPath = path.join(folder, 'cri.sock');
  await mkdir(staticPodPath);
  await writeFile(path.join(staticPodPath, 'web.yaml'), MANIFEST);
  await writeFile(path.join(staticPodPath, 'db.yaml'), MANIFEST.replace('web', 'db'));
  const writeConfig = (extra: object) => writeAgentFiles(folder, { nodeName: 'n', ...extra });
  const { configFile, runDirectory } = await writeConfig({});
  stack.use(await startStaticPodRuntime({ staticPodPath, socketPath, nodeName: 'n' }, signal));
  const run = (...args: string[]) => runNodemaint([...args, '--config', configFile]);
  const states = async (): Promise<readonly string[]> => {
    const { stdout } = await run('static-pods', 'list', '-o', 'json');
    return (JSON.parse(stdout) as { items: StaticPodEntry[] }).items.map(({ file, state }) => `${file} ${state}`);
  };
  const startAgent = async () => {
    const agent = stack.use(startNodemaint(['agent', '--config', configFile], path.join(folder, 'agent.log')));
    const answers = async (): Promise<boolean> => (await readAgentStatus(runDirectory)).node === 'n';
    await waitFor('the agent answers', answers, { timeoutMs: 20_000, program: agent, signal });
    return agent;
  };
  return { folder, staticPodPath, runDirectory, configFile, writeConfig, run, states, startAgent, signal };
}

describe('nodemaint static-pods', () => {
  it('the command parks, lists and restores without an agent', async () => {
    await using stack = new AsyncDisposableStack();
    const { staticPodPath, folder, run, states, signal } = await createMachine(stack);
    assert.deepEqual(await states(), ['db.yaml in place', 'web.yaml in place']);
    const parked = await run('static-pods', 'park', 'web.yaml');
    assert.deepEqual([parked.code, parked.stderr], [0, '']);
    assert.deepEqual(await readdir(staticPodPath), ['db.yaml']);
    const hasEnded = async (): Promise<boolean> => (await states()).includes('web.yaml parked');
    await waitFor('the pod has ended', hasEnded, { timeoutMs: 20_000, signal });

    const table = (await run('static-pods', 'list')).stdout;
    assert.match(table, /FILE +POD +PRIORITY +STATE +MAINTENANCE +SINCE\n/);
    assert.match(table, /web\.yaml +default\/web-n +2000001000 +parked +\(by hand\) +\d+s/);

    const restored = await run('restore', '--all');
    assert.deepEqual([restored.code, restored.stdout], [0, `web.yaml restored to ${staticPodPath}\n`]);
    assert.equal(await readFile(path.join(staticPodPath, 'web.yaml'), 'utf8'), MANIFEST);
    assert.match((await run('restore', '--all')).stdout, /^nothing is parked in /);
    // A claim without a holder stays: the next one takes the number after it.
    const left = (await readdir(path.join(folder, 'run'))).filter((name) => !/^claim\.\d+$/.test(name));
    assert.deepEqual(left, [], 'the socket is gone');
  });

  it('restore says which maintenance has the manifest parked again, and what ends it', async () => {
    await using stack = new AsyncDisposableStack();
    const { folder, run } = await createMachine(stack);
    assert.equal((await run('static-pods', 'park', 'web.yaml')).code, 0);
    const journal = path.join(folder, 'state', 'journal');
    const steps = parseJournal(await readFile(journal, 'utf8'), journal);
    const others = steps.map((step) => ('maintenance' in step ? { ...step, maintenance: 'firmware' } : step));
    await writeFile(journal, others.map(formatStep).join(''));
    const { code, stderr } = await run('restore', '--all');
    assert.equal(code, 0);
    assert.match(stderr, /nodemaintenance\/firmware drains this node, .*: nodemaint complete nm\/firmware\n$/);
  });

  it('the command goes through the agent where one runs, which keeps the manifest out over its own restart', async () => {
    await using stack = new AsyncDisposableStack();
    const { staticPodPath, run, states, startAgent } = await createMachine(stack);
    const agent = await startAgent();
    assert.equal((await run('static-pods', 'park', path.join(staticPodPath, 'web.yaml'))).code, 0);
    await agent.stop();
    await startAgent();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    assert.deepEqual(await readdir(staticPodPath), ['db.yaml']);
    const restored = await run('restore', 'web.yaml');
    assert.deepEqual([restored.code, restored.stderr], [0, '']);
    assert.deepEqual(await states(), ['db.yaml in place', 'web.yaml in place']);
  });

  it('the command waits for a kubelet that is down, says so, and gives up in time', async () => {
    await using stack = new AsyncDisposableStack();
    const { staticPodPath, writeConfig, run } = await createMachine(stack);
    await writeConfig({ kubeletHealthz: 'http://127.0.0.1:9/healthz' });
    const { code, stderr } = await run('static-pods', 'park', 'web.yaml', '--timeout', '2s');
    assert.equal(code, 3);
    assert.match(stderr, /default\/web-n: the kubelet is down; waiting before the manifest web\.yaml is moved/);
    assert.deepEqual(await readdir(staticPodPath), ['db.yaml', 'web.yaml']);
  });

  it('the command finds what is parked again although the configuration has another directory by now', async () => {
    await using stack = new AsyncDisposableStack();
    const { folder, staticPodPath, writeConfig, run } = await createMachine(stack);
    await run('static-pods', 'park', 'web.yaml');
    const other = path.join(folder, 'elsewhere', 'manifests');
    await mkdir(other, { recursive: true });
    await writeConfig({ staticPodPath: other });
    const restored = await run('restore', 'web.yaml');
    assert.match(restored.stderr, /manifests of \S+ lie parked in \S+; going on with these until they are given back/);
    assert.equal(restored.code, 0);
    assert.deepEqual(await readdir(staticPodPath), ['db.yaml', 'web.yaml']);
  });

  for (const [what, args, reason] of [
    [
      'a name that is not there',
      ['static-pods', 'park', 'x.yaml'],
      /no static pod manifest x\.yaml: it has db\.yaml, web\.yaml/,
    ],
    ['a path out of the directory', ['static-pods', 'park', '../config.yaml'], /no static pod manifest config\.yaml/],
    ['nothing', ['restore'], /restore needs the names of manifests, or --all/],
    ['what is not parked', ['restore', 'web.yaml'], /no static pod manifest web\.yaml$/m],
  ] as const) {
    it(`the command refuses ${what}`, async () => {
      await using stack = new AsyncDisposableStack();
      const { run } = await createMachine(stack);
      const { code, stderr } = await run(...args);
      assert.equal(code, 2);
      assert.match(stderr, reason);
    });
  }
});
