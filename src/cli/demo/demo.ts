import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { askAgent } from '../../agent/control/client.ts';
import type { AgentStatus } from '../../agent/control/status.ts';
import { CONFIG_API_VERSION } from '../../api/names.ts';
import { DEMO_MANIFESTS } from '../../demo/manifests.ts';
import { type DemoRuntime, startDemoRuntime } from '../../demo/runtime.ts';
import { NodemaintError } from '../../errors.ts';
import { type Clock, createSystemClock } from '../../host/clock.ts';
import { printable } from '../../printable.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { readStatus } from '../machine/agent-status.ts';

const NODE = 'demo';
const POLL_MS = 150;
const STEP_LIMIT_MS = 20_000;

/** The files of the demo. */
interface DemoPaths {
  readonly root: string;
  readonly staticPodPath: string;
  readonly runDirectory: string;
  readonly socketPath: string;
  readonly bootIdPath: string;
  readonly configPath: string;
}

/** Writes the sample manifests and the agent's configuration. */
async function prepare(root: string): Promise<DemoPaths> {
  const paths = {
    root,
    staticPodPath: path.join(root, 'manifests'),
    runDirectory: path.join(root, 'run'),
    socketPath: path.join(root, 'run', 'cri.sock'),
    bootIdPath: path.join(root, 'boot-id'),
    configPath: path.join(root, 'config.yaml'),
  };
  await mkdir(paths.staticPodPath);
  await mkdir(paths.runDirectory);
  for (const [name, text] of Object.entries(DEMO_MANIFESTS))
    await writeFile(path.join(paths.staticPodPath, name), text);
  await writeFile(paths.bootIdPath, 'first-boot\n');
  const config = {
    apiVersion: CONFIG_API_VERSION,
    kind: 'AgentConfiguration',
    nodeName: NODE,
    kubeconfig: '',
    staticPodPath: paths.staticPodPath,
    kubeletHealthz: '',
    containerRuntimeEndpoint: `unix://${paths.socketPath}`,
    stateDirectory: path.join(root, 'state'),
    runDirectory: paths.runDirectory,
    bootIdPath: paths.bootIdPath,
    lock: 'none',
  };
  await writeFile(paths.configPath, `${JSON.stringify(config, null, 2)}\n`);
  return paths;
}

/** Starts a real agent; disposing it stops it. */
function startAgent({ configPath }: DemoPaths): AsyncDisposable {
  const script = process.argv[1] ?? '';
  const child = spawn(process.execPath, [...process.execArgv, script, 'agent', '--config', configPath], {
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function readFolder(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(folder)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(path.join(folder, name), 'utf8')] as const)),
  );
}

/** What both parts of the demo need. */
interface Demo {
  readonly paths: DemoPaths;
  readonly clock: Clock;
  /** Writes a line. */
  readonly say: (text: string) => void;
}

/** Waits until the agent has reached a state; throws USAGE after 20 s. `onStatus` is called with each status. */
async function waitForAgent(
  { paths, clock }: Demo,
  {
    what,
    isDone,
    onStatus,
  }: {
    readonly what: string;
    readonly isDone: (status: AgentStatus) => boolean;
    readonly onStatus?: (status: AgentStatus) => void;
  },
  signal: AbortSignal,
): Promise<void> {
  const deadline = clock.monotonic() + STEP_LIMIT_MS;
  for (;;) {
    const status = await readStatus(paths.runDirectory).catch(() => undefined);
    if (status !== undefined) {
      onStatus?.(status);
      if (isDone(status)) return;
    }
    if (clock.monotonic() > deadline) throw new NodemaintError('USAGE', `the demo waited too long: ${what}`);
    await clock.sleep(POLL_MS, signal);
  }
}

async function waitForPods({ clock }: Demo, runtime: DemoRuntime, count: number, signal: AbortSignal): Promise<void> {
  while (runtime.pods().filter(({ state }) => state === 'running').length < count) await clock.sleep(POLL_MS, signal);
}

/** How far a drain is; undefined while the agent has not read the directory yet. */
export function progressText({ inPlace, parked, waitingFor }: AgentStatus): string | undefined {
  const total = inPlace.length + parked.length;
  if (total === 0) return undefined;
  const head = `${parked.length - waitingFor.length} of ${total} static pods ended`;
  const names = waitingFor.map(({ what, message }) => printable(`${what}: ${message}`)).join(', ');
  return names === '' ? head : `${head}; waiting for ${names}`;
}

/** The first part: a shutdown is announced, and the agent drains the node. */
async function showShutdown(demo: Demo, podCount: number, signal: AbortSignal): Promise<void> {
  const { paths, say } = demo;
  const show = createLogOnce(say);
  await using runtime = await startDemoRuntime({ ...paths, nodeName: NODE }, signal);
  await waitForPods(demo, runtime, podCount, signal);
  await using _agent = startAgent(paths);
  await waitForAgent(demo, { what: 'the agent starts', isDone: ({ phase }) => phase.kind === 'watching' }, signal);
  say('The agent is running. Now a shutdown is announced: nodemaint trigger --reason "kernel update"\n');
  await askAgent(paths.runDirectory, { verb: 'trigger', reason: 'kernel update' });
  await waitForAgent(
    demo,
    {
      what: 'the pods end',
      isDone: ({ phase }) => phase.kind === 'released',
      onStatus: (status) => show(progressText(status)),
    },
    signal,
  );
  say('\nAll pods have ended, and the machine may go down. The static pod directory is empty; these are parked:');
  for (const name of await readdir(path.join(paths.root, 'nodemaint-parked'))) {
    if (!name.startsWith('.')) say(`  ${name}`);
  }
}

/** The second part: the machine boots again, and the agent restores the manifests. */
async function showBoot(demo: Demo, before: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
  const { paths, say } = demo;
  say('\nThe machine reboots: it has a new boot id, and kubelet, runtime and agent start again.');
  await writeFile(paths.bootIdPath, 'second-boot\n');
  await using runtime = await startDemoRuntime({ ...paths, nodeName: NODE }, signal);
  await using _agent = startAgent(paths);
  const isDone = ({ phase, parked }: AgentStatus): boolean => phase.kind === 'watching' && parked.length === 0;
  await waitForAgent(demo, { what: 'the manifests come back', isDone }, signal);
  const after = await readFolder(paths.staticPodPath);
  for (const [name, text] of Object.entries(before)) {
    if (after[name] !== text) {
      throw new NodemaintError('FILE_OPERATION_FAILED', `the manifest ${name} did not come back unchanged`);
    }
    say(`  ${name} is back, unchanged (${Buffer.byteLength(text)} bytes)`);
  }
  await waitForPods(demo, runtime, Object.keys(before).length, signal);
  say('All static pods are running again. To use nodemaint on a node, read docs/README.md.');
}

/**
 * `nodemaint demo`: a shutdown and a boot in a temporary folder. The agent is the real one, without a cluster; the kubelet
 * and the container runtime are stand-ins that run each sample pod as a real process. Throws USAGE where a step takes longer
 * than 20 s.
 */
export async function demoCommand(terminal: Terminal, signal: AbortSignal): Promise<void> {
  // An agent that is root moves no file below a directory that every user may write, such as /tmp.
  const root = await mkdtemp(path.join(process.geteuid?.() === 0 ? '/run' : tmpdir(), 'nodemaint-demo-'));
  try {
    const say = (text: string): void => {
      terminal.write(`${text}\n`);
    };
    const demo = { paths: await prepare(root), clock: createSystemClock(), say };
    const before = await readFolder(demo.paths.staticPodPath);
    const count = Object.keys(before).length;
    say(`A demo node in ${root}: ${count} static pods, each a real process; no cluster, no root.`);
    await showShutdown(demo, count, signal);
    await showBoot(demo, before, signal);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
