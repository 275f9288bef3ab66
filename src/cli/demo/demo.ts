import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { askAgent } from '../../agent/control/client.ts';
import type { AgentStatus } from '../../agent/control/status.ts';
import { CONFIG_API_VERSION } from '../../api/names.ts';
import { DEMO_MANIFESTS } from '../../demo/manifests.ts';
import { startDemoRuntime } from '../../demo/runtime.ts';
import { NodemaintError } from '../../errors.ts';
import { createSystemClock } from '../../host/clock.ts';
import { drawDemo } from './view.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { readStatus } from '../agent-status.ts';

const NODE = 'demo';
const LOOK_MS = 150;
const STEP_LIMIT_MS = 20_000;

interface Sandbox {
  readonly root: string;
  readonly staticPodPath: string;
  readonly runDirectory: string;
  readonly socketPath: string;
  readonly bootIdPath: string;
  readonly configPath: string;
}

async function prepare(root: string): Promise<Sandbox> {
  const sandbox = {
    root,
    staticPodPath: path.join(root, 'manifests'),
    runDirectory: path.join(root, 'run'),
    socketPath: path.join(root, 'run', 'cri.sock'),
    bootIdPath: path.join(root, 'boot-id'),
    configPath: path.join(root, 'config.yaml'),
  };
  await mkdir(sandbox.staticPodPath);
  await mkdir(sandbox.runDirectory);
  for (const [name, text] of Object.entries(DEMO_MANIFESTS))
    await writeFile(path.join(sandbox.staticPodPath, name), text);
  await writeFile(sandbox.bootIdPath, 'first-boot\n');
  const config = {
    apiVersion: CONFIG_API_VERSION,
    kind: 'AgentConfiguration',
    nodeName: NODE,
    kubeconfig: '',
    staticPodPath: sandbox.staticPodPath,
    kubeletHealthz: '',
    containerRuntimeEndpoint: `unix://${sandbox.socketPath}`,
    stateDirectory: path.join(root, 'state'),
    runDirectory: sandbox.runDirectory,
    bootIdPath: sandbox.bootIdPath,
    lock: 'none',
  };
  await writeFile(sandbox.configPath, `${JSON.stringify(config, null, 2)}\n`);
  return sandbox;
}

function startAgent(sandbox: Sandbox): ChildProcess {
  const script = process.argv[1] ?? '';
  return spawn(process.execPath, [...process.execArgv, script, 'agent', '--config', sandbox.configPath], {
    stdio: 'ignore',
  });
}

async function stopAgent(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  child.kill('SIGTERM');
  await gone;
}

async function contents(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(path.join(folder, name), 'utf8')] as const)),
  );
}

/**
 * `nodemaint demo`: the main job in a sandbox folder. The agent is the real one, standalone; kubelet and container
 * runtime are stand-ins that run each sample pod as a real process; the shutdown is announced by the agent's own trigger.
 */
export async function demoCommand(terminal: Terminal, signal: AbortSignal): Promise<void> {
  const clock = createSystemClock();
  // An agent that is root moves nothing below a directory like /tmp, where everybody may write.
  const root = await mkdtemp(path.join(process.geteuid?.() === 0 ? '/run' : tmpdir(), 'nodemaint-demo-'));
  const say = (text: string): void => {
    terminal.write(`${text}\n`);
  };
  const view = drawDemo(terminal);
  let agent: ChildProcess | undefined;
  try {
    const sandbox = await prepare(root);
    const before = await contents(sandbox.staticPodPath);
    const waitFor = async (what: string, done: (status: AgentStatus) => boolean, draw = false): Promise<void> => {
      const deadline = clock.monotonic() + STEP_LIMIT_MS;
      for (;;) {
        const status = await readStatus(sandbox.runDirectory).catch(() => undefined);
        if (status !== undefined && draw) view.show(status, clock.now());
        if (status !== undefined && done(status)) return;
        if (clock.monotonic() > deadline) throw new NodemaintError('USAGE', `the demo waited too long: ${what}`);
        await clock.sleep(LOOK_MS, signal);
      }
    };

    say(
      `A sandbox node in ${root}: ${Object.keys(before).length} static pods, each a real process; no cluster, no root.`,
    );
    {
      await using runtime = await startDemoRuntime({ ...sandbox, nodeName: NODE }, signal);
      while (runtime.pods().filter(({ state }) => state === 'running').length < Object.keys(before).length) {
        await clock.sleep(LOOK_MS, signal);
      }
      agent = startAgent(sandbox);
      await waitFor('the agent starts', ({ phase }) => phase.kind === 'watching');
      say('The agent is up. Now a shutdown is announced: nodemaint trigger --reason "kernel update"\n');
      await askAgent(sandbox.runDirectory, { verb: 'trigger', reason: 'kernel update' });
      await waitFor('the pods end', ({ phase }) => phase.kind === 'released', true);
      say('\nAll pods have ended and the machine may go down. Manifests in the static pod directory: none; parked:');
      for (const name of await readdir(path.join(root, 'nodemaint-parked')))
        if (!name.startsWith('.')) say(`  ${name}`);
      await stopAgent(agent);
    }
    say('\nThe machine reboots: a new boot id, kubelet, runtime and agent start again.');
    await writeFile(sandbox.bootIdPath, 'second-boot\n');
    await using runtime = await startDemoRuntime({ ...sandbox, nodeName: NODE }, signal);
    agent = startAgent(sandbox);
    await waitFor('the manifests come back', ({ phase, parked }) => phase.kind === 'watching' && parked.length === 0);
    const after = await contents(sandbox.staticPodPath);
    for (const [name, text] of Object.entries(before)) {
      const same = after[name] === text;
      if (!same) throw new NodemaintError('FILE_OPERATION_FAILED', `the manifest ${name} did not come back as it was`);
      say(`  ${name}  back, byte for byte (${Buffer.byteLength(text)} bytes)`);
    }
    while (runtime.pods().filter(({ state }) => state === 'running').length < Object.keys(before).length) {
      await clock.sleep(LOOK_MS, signal);
    }
    say('All static pods run again. That was the main job; docs/usage/operate.md has the rest.');
  } finally {
    if (agent !== undefined) await stopAgent(agent);
    await rm(root, { recursive: true, force: true });
  }
}
