/**
 * From the call that asks logind for a reboot to the NodeMaintenance that a watch of the API server shows, and from the
 * drained maintenance to the moment at which logind goes on with the reboot: the installed agent on a real logind and a
 * real API server. Beside it the least that could do the same: a bare listener and a bare POST; a bare systemd-inhibit.
 * A machine goes down once in an agent's life, so each sample has an agent of its own and is a boot of its own.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { askAgent } from '../../src/agent/control/client.ts';
import type { AgentStatus } from '../../src/agent/control/status.ts';
import { DRAINED, type NodeMaintenance } from '../../src/api/node-maintenance.ts';
import { createSystemClock } from '../../src/host/clock.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { loadClusterAccess } from '../../src/kube/access/cluster.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath, sendForObject } from '../../src/kube/resource.ts';
import { createObjectCache } from '../../src/kube/watch.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { startProgram } from '../control-plane/process.ts';
import { connectHost, type HostClients } from '../logind/host.ts';
import { holdLockFor, type Logind, startLogind } from '../logind/rig.ts';
import { playLivingController } from '../support/stand-ins/living-controller.ts';
import { maintenanceOf } from '../support/maintenance/objects.ts';
import { writeAgentFiles } from '../support/agent/files.ts';
import { installManifests } from '../support/commands/nodemaint.ts';
import { inWords, percentile } from './quantile.ts';
import { makeTestFolder } from '../support/folder.ts';
import { waitFor } from '../support/wait-for.ts';

const SAMPLES = 100;
const NODE = 'bench';
const SAMPLE_MS = 20_000;
/** No machine goes down while its agent starts, nor is a node empty while its drain begins. */
const SETTLE_MS = 1_000;

/** Where the time of each sample goes, in milliseconds. */
interface Times {
  readonly created: number[];
  readonly released: number[];
}

interface Rig {
  readonly logind: Logind;
  readonly host: HostClients;
  readonly client: KubeClient;
  readonly folder: string;
  readonly configFile: string;
  /** Resolves when the watch has shown a maintenance of this name for the first time. */
  seen(name: RegExp): Promise<{ readonly name: string; readonly at: number }>;
}

/** Lets logind and the stand-in for systemd forget the shutdown, as a boot does. */
async function forget({ logind, host }: Rig, signal: AbortSignal): Promise<void> {
  logind.standIn.finishJob();
  await waitFor('logind is done', async () => !(await host.login1.preparingForShutdown(signal)), {
    timeoutMs: SAMPLE_MS,
  });
}

/** Waits until logind asks systemd for the next target, and returns when that was. */
async function goesOn({ logind }: Rig, before: number): Promise<number> {
  await waitFor('logind goes on', () => logind.startedTargets().length > before, { timeoutMs: SAMPLE_MS });
  return logind.startedTargets().at(-1)?.at ?? Number.NaN;
}

async function statusWhere(runDirectory: string, claim: (status: AgentStatus) => boolean): Promise<void> {
  const ask = async (): Promise<boolean> => {
    const answer = askAgent(runDirectory, { verb: 'status' }).catch(() => undefined);
    const status = (await answer) as AgentStatus | undefined;
    return status !== undefined && claim(status);
  };
  await waitFor('the agent watches and holds', ask, { timeoutMs: SAMPLE_MS });
}

async function sampleAgent(
  rig: Rig,
  agent: readonly [string, ...string[]],
  boot: number,
  { created, released }: Times,
  signal: AbortSignal,
): Promise<void> {
  const { logind, client, folder } = rig;
  await writeFile(path.join(folder, 'boot-id'), `boot-${boot}\n`);
  const environment = { DBUS_SYSTEM_BUS_ADDRESS: logind.address, NODE_COMPILE_CACHE: path.join(folder, 'cache') };
  const command = [...agent, 'agent', '--config', rig.configFile] as const;
  await using program = startProgram(command, path.join(folder, 'agent.log'), environment);
  await statusWhere(
    path.join(folder, 'run'),
    ({ phase, lock, cluster }) => phase.kind === 'watching' && lock.held && cluster.heardAt !== undefined,
  );
  await setTimeout(SETTLE_MS, undefined, { signal });
  const before = logind.startedTargets().length;
  const creation = rig.seen(/^shutdown-/);
  const asked = Date.now();
  await logind.reboot();
  const { name, at } = await creation;
  created.push(at - asked);
  await setTimeout(SETTLE_MS, undefined, { signal });
  const condition = { type: DRAINED, status: 'True', reason: 'Bench', message: '', lastTransitionTime: new Date() };
  const gone = { nodeRef: { name: NODE }, podsPendingEvacuation: 0, podsEvacuating: 0 };
  const request = {
    method: 'PATCH',
    path: objectPath(NODE_MAINTENANCES, { name }, 'status'),
    body: { status: { conditions: [condition], nodeStatuses: [gone] } },
    patch: { kind: 'merge' },
  } as const;
  await sendForObject(client, request, [], signal);
  // The answer to the write is the earliest moment at which we know of it; the agent may have acted before.
  const drained = Date.now();
  released.push(Math.max(0, (await goesOn(rig, before)) - drained));
  // It would wait for the boot; the next one begins without it.
  program.kill('SIGKILL');
  await forget(rig, signal);
}

/** Resolves at the next line of a program. */
async function nextLine(child: ChildProcess): Promise<number> {
  if (child.stdout === null) return Number.NaN;
  await once(child.stdout, 'data');
  return Date.now();
}

async function sampleBare(rig: Rig, listener: ChildProcess, times: Times, signal: AbortSignal): Promise<void> {
  const { logind, host, client } = rig;
  const words = ['--what=shutdown', '--mode=delay', '--who=bare', '--why=bench', 'cat'];
  const env = { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: logind.address };
  const holder = spawn('systemd-inhibit', words, { env, stdio: ['pipe', 'ignore', 'ignore'] });
  const gone = once(holder, 'exit');
  const isHeld = async (): Promise<boolean> =>
    (await host.login1.listInhibitors(signal)).some(({ who }) => who === 'bare');
  await waitFor('the bare lock is held', isHeld, { timeoutMs: SAMPLE_MS });
  const before = logind.startedTargets().length;
  const heard = nextLine(listener);
  const asked = Date.now();
  await logind.reboot();
  const hearing = (await heard) - asked;
  const body = maintenanceOf({}, { name: `bare-${before}` });
  const creation = rig.seen(/^bare-/);
  const posted = Date.now();
  await sendForObject(client, { method: 'POST', path: collectionPath(NODE_MAINTENANCES), body }, [], signal);
  times.created.push(hearing + (await creation).at - posted);
  const letGo = Date.now();
  holder.stdin.end();
  times.released.push((await goesOn(rig, before)) - letGo);
  await gone;
  await forget(rig, signal);
}

async function buildRig(stack: AsyncDisposableStack, signal: AbortSignal): Promise<Rig> {
  const folder = await makeTestFolder('latency');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const controlPlane = stack.use(await startControlPlane({}, signal));
  await installManifests(controlPlane);
  await controlPlane.kubectl(
    ['apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } }),
  );
  const logind = stack.use(await startLogind({ inhibitDelayMaxSec: 600 }, signal));
  const host = stack.use(connectHost(logind));
  const client = createKubeClient(await loadClusterAccess(controlPlane.adminKubeconfig), 'bench');
  stack.defer(() => {
    client.close();
  });
  await mkdir(path.join(folder, 'manifests'));
  await mkdir(path.join(folder, 'cache'));
  const { configFile, runDirectory } = await writeAgentFiles(folder, {
    kubeconfig: await controlPlane.kubeconfigFor(`system:node:${NODE}`, ['system:nodes']),
    kubeletHealthz: undefined,
    containerRuntimeEndpoint: undefined,
    lock: 'unit',
    cloud: { provider: 'none' },
  });
  holdLockFor(logind, runDirectory);

  const waiting = new Map<RegExp, (found: { name: string; at: number }) => void>();
  const known = new Set<string>();
  const onChange = (name: string): void => {
    // The name of a maintenance that is gone may be used again.
    const uid = cache.get(name)?.metadata.uid;
    if (uid === undefined || known.has(uid)) return;
    known.add(uid);
    for (const [pattern, resolve] of waiting) {
      if (!pattern.test(name)) continue;
      waiting.delete(pattern);
      resolve({ name, at: Date.now() });
    }
  };
  const clock = createSystemClock();
  const parts = { client, clock, log: host.log };
  const cache = createObjectCache<NodeMaintenance>({ resource: NODE_MAINTENANCES }, onChange, parts);
  const ending = new AbortController();
  // The bench plays the controller. Without one the agent would drain the node itself, and never wait for us.
  const running = Promise.all([cache.run(ending.signal), playLivingController(client, ending.signal)]);
  stack.defer(async () => {
    ending.abort();
    await running;
  });
  await waitFor('the watch has begun', () => cache.synced(), { timeoutMs: SAMPLE_MS });
  const seen: Rig['seen'] = (pattern) =>
    new Promise((resolve, reject) => {
      waiting.set(pattern, resolve);
      AbortSignal.any([signal, AbortSignal.timeout(SAMPLE_MS)]).addEventListener('abort', () => {
        reject(new Error(`no maintenance ${pattern.source} within ${SAMPLE_MS} ms`));
      });
    });
  return { logind, host, client, folder, configFile, seen };
}

/** Prints the figures; `agent` is the command that runs nodemaint. */
export async function benchShutdownLatency(agent: readonly [string, ...string[]], signal: AbortSignal): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const rig = await buildRig(stack, signal);
  const bare: Times = { created: [], released: [] };
  const environment = { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: rig.logind.address };
  const listener = spawn(process.execPath, [path.join(import.meta.dirname, 'bare-listener.ts')], {
    env: environment,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  stack.defer(() => {
    listener.kill('SIGKILL');
  });
  await nextLine(listener);
  const ours: Times = { created: [], released: [] };
  for (let index = 0; index < SAMPLES; index += 1) {
    await sampleBare(rig, listener, bare, signal);
    await sampleAgent(rig, agent, index, ours, signal);
  }
  const lines = [
    ['reboot asked for to NodeMaintenance seen', ours.created, bare.created, 'bare listener and POST'],
    ['drained to logind goes on', ours.released, bare.released, 'bare systemd-inhibit'],
  ] as const;
  for (const [what, values, others, other] of lines) {
    const ratio = (percentile(values, 0.5) / percentile(others, 0.5)).toFixed(1);
    console.log(
      `${what}, ${SAMPLES} samples: ${inWords(values)}; ${other}: ${inWords(others)}; ratio of the medians ${ratio}`,
    );
  }
}
