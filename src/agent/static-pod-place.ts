/**
 * Where this node's static pods are: as configured, else as the running kubelet has it. The place in use is on disk, so
 * that manifests that lie parked are found again although the kubelet is away or has another directory by now.
 */
import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import type { AgentConfig } from '../config/schema.ts';
import { chooseStaticPodPath, type KubeletFacts } from '../decide/kubelet-config.ts';
import { describeError } from '../errors.ts';
import { replaceFile } from '../host/durable-file.ts';
import { usualStaticPodPath } from '../host/kubelet-config.ts';
import { createDisk } from '../static-pods/disk.ts';
import { createMover, type MoverPaths } from '../static-pods/mover.ts';
import { findPlaces } from '../static-pods/places.ts';
import type { Log } from '../telemetry/log.ts';
import type { StaticPodStore } from './static-pods.ts';

const placeSchema = z.object({
  staticPodPath: z.string().startsWith('/'),
  parkedPath: z.string().startsWith('/'),
  only: z.string().exactOptional(),
});
type Place = z.infer<typeof placeSchema>;

type PlaceConfig = Pick<AgentConfig, 'staticPodPath' | 'parkedPath' | 'stateDirectory'>;

function placeFile(stateDirectory: string): string {
  return path.join(stateDirectory, 'static-pods.json');
}

async function readPlace(stateDirectory: string): Promise<Place | undefined> {
  try {
    return placeSchema.parse(JSON.parse(await readFile(placeFile(stateDirectory), 'utf8')));
  } catch {
    // It only helps to find the same place again; without it the place is looked for anew.
    return undefined;
  }
}

function isPlace(one: Place, other: Place): boolean {
  return one.staticPodPath === other.staticPodPath && one.parkedPath === other.parkedPath && one.only === other.only;
}

async function hasParked(parkedPath: string): Promise<boolean> {
  const names = await readdir(parkedPath).catch((): string[] => []);
  return names.some((name) => !name.startsWith('.'));
}

/**
 * Finds the static pods' directories; changes nothing. `kubelet` is undefined while none runs, and then the place that was
 * used last is better than a guess.
 */
export async function locateStaticPods(
  config: PlaceConfig,
  kubelet: KubeletFacts | undefined,
  log: Pick<Log, 'warn'>,
): Promise<MoverPaths> {
  const last = await readPlace(config.stateDirectory);
  const used = last === undefined ? undefined : path.join(last.staticPodPath, last.only ?? '');
  const fallback = used ?? (await usualStaticPodPath());
  const { path: given, warning } = chooseStaticPodPath(config.staticPodPath, kubelet, fallback);
  if (warning !== undefined) log.warn({ reason: warning }, 'the kubelet has another static pod directory');
  const { stateDirectory, parkedPath } = config;
  const found = await findPlaces({ staticPodPath: given, parkedPath, stateDirectory });
  if (last !== undefined && !isPlace(last, found) && (await hasParked(last.parkedPath))) {
    const reason = `manifests of ${last.staticPodPath} lie parked in ${last.parkedPath}; going on with these until they are given back, then with ${given}`;
    log.warn({ reason }, 'the static pod directory has changed while manifests are parked');
    return { ...last, journalPath: found.journalPath };
  }
  return found;
}

/** Remembers the place before anything is parked there. */
async function remember(stateDirectory: string, paths: MoverPaths): Promise<void> {
  const { journalPath: _, ...place } = paths;
  const last = await readPlace(stateDirectory);
  if (last !== undefined && isPlace(last, place)) return;
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 });
  await replaceFile(placeFile(stateDirectory), `${JSON.stringify(place)}\n`, 0o600);
}

/** Opens the static pods' directories for writing, finishes what was under way there, and says what could not be. */
export async function openStore(
  config: PlaceConfig,
  paths: MoverPaths,
  log: Pick<Log, 'error'>,
): Promise<StaticPodStore> {
  const disk = createDisk();
  const mover = createMover(paths, disk);
  await remember(config.stateDirectory, paths);
  const { failed, missing } = await mover.recover();
  for (const { file, reason } of failed) log.error({ manifest: file, reason }, 'a move that was interrupted stays so');
  for (const file of missing) log.error({ manifest: file }, 'a parked manifest has been taken away');
  return { paths, disk, mover };
}

/** The running kubelet's configuration; one that cannot be read is said and taken for none. */
export async function askKubelet(
  find: (signal: AbortSignal) => Promise<KubeletFacts | undefined>,
  log: Pick<Log, 'warn'>,
  signal: AbortSignal,
): Promise<KubeletFacts | undefined> {
  try {
    return await find(signal);
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ reason: describeError(error) }, "cannot read the kubelet's configuration");
    return undefined;
  }
}
