/**
 * `npm run bench`: figures as ratios in one run, for a person to read; nothing here is asserted. Runs the bundle, as it is
 * installed, against a real API server and a real logind.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { access, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { type Program, startProgram } from '../control-plane/process.ts';
import { connectHost } from '../logind/host.ts';
import { holdLockFor, type Logind, startLogind } from '../logind/rig.ts';
import { writeAgentFiles } from '../support/agent/files.ts';
import { installManifests } from '../support/commands/nodemaint.ts';
import { pause } from './parallel.ts';
import { residentMiB } from './process-figures.ts';
import { percentile } from './quantile.ts';
import { benchControlPlane, isControlPlane } from './control-plane/main.ts';
import { benchScale, isScale } from './scale/main.ts';
import { makeTestFolder } from '../support/folder.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const BUNDLE = path.join(ROOT, 'dist', 'nodemaint.cjs');
const IDLE_MS = 15_000;
const STARTS = 7;
/** After so long the first run has loaded all that a start loads; it keeps the compiled code at its end. */
const FIRST_RUN_MS = 2_000;
/** The whole bench of many nodes takes about an hour. */
const SCALE_MS = 10_800_000;

const PROGRAM: readonly [string, ...string[]] = [process.execPath, BUNDLE];

/** The flags that the agent's unit gives to Node.js. */
function flagsOfUnit(): readonly string[] {
  const unit = readFileSync(path.join(ROOT, 'systemd', 'system', 'nodemaint.service'), 'utf8');
  return (/^ExecStart=\S+ (.*) \S+nodemaint\.cjs/m.exec(unit)?.[1] ?? '').split(' ');
}
const AGENT: readonly [string, ...string[]] = [process.execPath, ...flagsOfUnit(), BUNDLE];

function startAgent(configFile: string, logind: Logind, log: string): Program {
  // As the unit runs it: with a folder for compiled code, which its first run fills at its end.
  const env = {
    DBUS_SYSTEM_BUS_ADDRESS: logind.address,
    NODE_COMPILE_CACHE: path.join(path.dirname(configFile), 'cache'),
    MALLOC_ARENA_MAX: '1',
    MALLOC_MMAP_THRESHOLD_: '65536',
  };
  return startProgram([...AGENT, 'agent', '--config', configFile], log, env);
}

async function writeConfig(folder: string, kubeconfig: string): Promise<string> {
  await mkdir(path.join(folder, 'manifests'));
  await mkdir(path.join(folder, 'cache'));
  const found = { kubeletHealthz: undefined, containerRuntimeEndpoint: undefined };
  const { configFile } = await writeAgentFiles(folder, { kubeconfig, lock: 'unit', ...found });
  return configFile;
}

async function benchMemory(configFile: string, logind: Logind, folder: string): Promise<void> {
  await using agent = startAgent(configFile, logind, path.join(folder, 'memory.log'));
  await using bare = startProgram(
    [process.execPath, '-e', 'setInterval(() => {}, 1e6)'],
    path.join(folder, 'bare.log'),
  );
  await pause(IDLE_MS);
  const [ours, theirs] = [await residentMiB(agent.pid), await residentMiB(bare.pid)];
  const ratio = (ours / theirs).toFixed(2);
  console.log(
    `idle agent, resident memory: ${ours.toFixed(1)} MiB; bare Node ${process.version}: ${theirs.toFixed(1)} MiB; ratio ${ratio} (aim: below 80 MiB)`,
  );
}

async function benchStart(configFile: string, logind: Logind, folder: string): Promise<void> {
  using host = connectHost(logind);
  const signal = AbortSignal.timeout(120_000);
  const ours: number[] = [];
  const theirs: number[] = [];
  {
    await using _first = startAgent(configFile, logind, path.join(folder, 'first.log'));
    await pause(FIRST_RUN_MS);
  }
  for (let run = 0; run < STARTS; run += 1) {
    const began = performance.now();
    {
      await using agent = startAgent(configFile, logind, path.join(folder, 'start.log'));
      const held = async (): Promise<boolean> =>
        (await host.login1.listInhibitors(signal)).some(({ who }) => who === 'nodemaint');
      while (!(await held()) && !agent.exited()) await pause(2);
      ours.push(performance.now() - began);
    }
    const beganInhibit = performance.now();
    const env = { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: logind.address };
    await promisify(execFile)('systemd-inhibit', ['--mode=delay', '--what=shutdown', 'true'], { env });
    theirs.push(performance.now() - beganInhibit);
  }
  const [a, b] = [percentile(ours, 0.5), percentile(theirs, 0.5)];
  console.log(
    `start to lock held, median of ${STARTS}: ${a.toFixed(0)} ms (aim: 250); systemd-inhibit true: ${b.toFixed(0)} ms; ratio ${(a / b).toFixed(1)}`,
  );
}

async function benchAgent(signal: AbortSignal): Promise<void> {
  const folder = await makeTestFolder('bench');
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => await rm(folder, { recursive: true, force: true }));
  const controlPlane = stack.use(await startControlPlane({}, signal));
  await installManifests(controlPlane);
  const logind = stack.use(await startLogind({ inhibitDelayMaxSec: 600 }, signal));
  holdLockFor(logind, path.join(folder, 'run'));
  const kubeconfig = await controlPlane.kubeconfigFor('system:node:bench', ['system:nodes']);
  const configFile = await writeConfig(folder, kubeconfig);
  await benchStart(configFile, logind, folder);
  await benchMemory(configFile, logind, folder);
}

/** By the names that choose among them on the command line. */
const BENCHES: Readonly<Record<string, (signal: AbortSignal) => Promise<void>>> = { agent: benchAgent };

/** Runs the benches of these names, or all. */
async function main(names: readonly string[]): Promise<void> {
  await access(BUNDLE).catch(() => {
    throw new Error(`no ${BUNDLE}; run npm run build first`);
  });
  const [scale, members] = [names.filter(isScale), names.filter(isControlPlane)];
  const others = names.filter((name) => !isScale(name) && !isControlPlane(name));
  const unknown = others.filter((name) => BENCHES[name] === undefined);
  if (unknown.length > 0)
    throw new Error(
      `no bench ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}, scale, control-plane`,
    );
  for (const word of scale) await benchScale(word, { program: PROGRAM, signal: AbortSignal.timeout(SCALE_MS) });
  for (const word of members) await benchControlPlane(word, PROGRAM, AbortSignal.timeout(SCALE_MS));
  if (scale.length + members.length > 0 && others.length === 0) return;
  const signal = AbortSignal.timeout(900_000);
  for (const [name, bench] of Object.entries(BENCHES))
    if (others.length === 0 || others.includes(name)) await bench(signal);
}

await main(process.argv.slice(2));
