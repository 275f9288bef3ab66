/**
 * From the moment at which an EvictionRequest has `kubelet.k8s.io` as its active interceptor to the moved manifest: the
 * installed agent against a real API server, beside bare renames by Node on the same disk.
 */
import { type FSWatcher, watch } from 'node:fs';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startProgram } from '../control-plane/process.ts';
import { buildEvictionRig, NODE } from '../support/rigs/eviction.ts';
import { playLivingController } from '../support/stand-ins/living-controller.ts';
import { buildMirrorRig, type MirrorRig } from '../support/rigs/mirror.ts';
import { readAgentStatus } from '../support/commands/nodemaint.ts';
import { inWords, percentile } from './quantile.ts';
import { waitFor } from '../support/wait-for.ts';

const SAMPLES = 40;
const PAUSE_MS = 1_000;
const WARM_UP = 5;
const MOVE_MS = 20_000;

/** Resolves when the manifest has left the directory. */
function whenMoved(watcher: FSWatcher, file: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      watcher.off('change', onChange);
      signal.removeEventListener('abort', onAbort);
    };
    const onChange = (_kind: string, name: string | Buffer | null): void => {
      if (String(name) !== file) return;
      stop();
      resolve();
    };
    const onAbort = (): void => {
      stop();
      reject(signal.reason as Error);
    };
    watcher.on('change', onChange);
    signal.addEventListener('abort', onAbort);
  });
}

async function timeMove(rig: MirrorRig, watcher: FSWatcher, index: number, signal: AbortSignal): Promise<number> {
  const name = `pod-${index}`;
  await rig.writeManifest(name);
  const { metadata } = await rig.createMirror(name);
  const uid = metadata.uid ?? '';
  await rig.createRequest(name, uid);
  // What was made for the sample has woken the agent; one that is woken all the time answers four times a second.
  await delay(PAUSE_MS, undefined, { signal });
  const moved = whenMoved(watcher, `${name}.yaml`, signal);
  await rig.activate(uid);
  // The answer to the write is the earliest moment at which we know of it; the agent may have moved before.
  const began = performance.now();
  await moved;
  const took = performance.now() - began;
  await rm(path.join(rig.parkedPath, `${name}.yaml`));
  return took;
}

/** A rename from one directory to another, with both made durable. */
async function timeRename(folder: string, index: number): Promise<number> {
  const [from, to] = [path.join(folder, 'from'), path.join(folder, 'to')];
  await writeFile(path.join(from, `${index}`), '{}');
  const began = performance.now();
  await rename(path.join(from, `${index}`), path.join(to, `${index}`));
  for (const directory of [to, from]) {
    await using handle = await open(directory, 'r');
    await handle.sync();
  }
  return performance.now() - began;
}

/** Prints the figures; `agent` is the command that runs nodemaint. */
export async function benchStaticPods(agent: readonly [string, ...string[]], signal: AbortSignal): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const rig = stack.use(await buildEvictionRig());
  const mirrors = await buildMirrorRig(rig);
  // The bench is the controller. Without one the agent drains the node itself, and moves the manifest before its turn.
  const playing = new AbortController();
  const controller = playLivingController(rig.client, playing.signal);
  stack.defer(async () => {
    playing.abort();
    await controller;
  });
  const log = path.join(rig.folder, 'agent.log');
  const program = stack.use(startProgram([...agent, 'agent', '--config', mirrors.configFile], log));
  const isUp = async (): Promise<boolean> =>
    (await readAgentStatus(mirrors.runDirectory)).cluster.heardAt !== undefined;
  await waitFor('the agent has a cluster', isUp, { program, signal });
  await mirrors.target([{ podType: 'Static', podPriority: 2_147_483_647 }]);
  const watcher = watch(mirrors.staticPodPath);
  stack.defer(() => {
    watcher.close();
  });
  const moves: number[] = [];
  for (let index = 0; index < WARM_UP + SAMPLES; index += 1) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(MOVE_MS)]);
    const took = await timeMove(mirrors, watcher, index, limit).catch(async (error: unknown) => {
      throw new Error(`sample ${index} did not move within ${MOVE_MS} ms\n${await program.tail()}`, { cause: error });
    });
    if (index >= WARM_UP) moves.push(took);
  }
  for (const name of ['from', 'to']) await mkdir(path.join(rig.folder, name));
  const renames: number[] = [];
  for (let index = 0; index < SAMPLES; index += 1) renames.push(await timeRename(rig.folder, index));
  const ratio = (percentile(moves, 0.5) / percentile(renames, 0.5)).toFixed(1);
  console.log(
    `active request to moved manifest on ${NODE}, ${SAMPLES} samples: ${inWords(moves)}; bare durable rename: ${inWords(renames)}; ratio of the medians ${ratio}`,
  );
}
