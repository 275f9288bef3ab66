/**
 * The directories of this node's static pods: as configured, else as the running kubelet has them. The directories in use
 * are recorded on disk, so that parked manifests are found again where the kubelet is away or has another directory by now.
 */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { StaticPodStore } from './view.ts';
import type { AgentConfig } from '../../config/schema.ts';
import { chooseStaticPodPath, type KubeletFacts } from '../../decide/machine/kubelet-config.ts';
import { kubeletShutdownWarning } from '../../decide/machine/kubelet-graceful-shutdown.ts';
import { staticPodUrlWarning } from '../../decide/static-pod/url-pods.ts';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';
import type { StateFiles } from '../../host/files/state-files.ts';
import { usualStaticPodPath } from '../../host/kubelet/config.ts';
import { createDisk } from '../../static-pods/disk/disk.ts';
import { readInPlace } from '../../static-pods/inventory.ts';
import { Mover } from '../../static-pods/mover.ts';
import { findPlaces, type MoverPaths } from '../../static-pods/places.ts';
import { untrustedPlace } from '../../static-pods/trusted-places.ts';
import type { Log } from '../../telemetry/log.ts';
import { createWarnOnce } from '../../telemetry/log-once.ts';

/** The static pods' directories, which change with the kubelet's configuration. */
export interface StaticPodLocator {
  /** The directories in use. */
  store(): StaticPodStore;
  /** Finds the directories again: the kubelet may have been restarted with another one. */
  relocate(signal: AbortSignal): Promise<void>;
  /** What is wrong with the kubelet's configuration, for people. */
  warnings(): readonly string[];
}

/** Directories that were found, and not changed yet. */
interface LocatedStaticPods {
  readonly paths: MoverPaths;
  /** Opens it for writing; call it when no other agent can be there. Throws what `openStore` throws. */
  open(): Promise<StaticPodLocator>;
}

/** What the static pods' directories are found with. */
interface LocatorDependencies {
  readonly config: Pick<AgentConfig, 'staticPodPath' | 'parkedPath' | 'stateDirectory' | 'runDirectory'>;
  readonly state: StateFiles;
  /** Reads the configuration of the running kubelet; undefined while none runs. */
  readonly find: (signal: AbortSignal) => Promise<KubeletFacts | undefined>;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
}

/** Logs which files are no manifests. Throws for a directory that is configured and missing; to the kubelet it is empty. */
async function warnOfInvalid(
  { config, log }: LocatorDependencies,
  nodeName: string,
  paths: MoverPaths,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { invalid } = await readInPlace(paths, nodeName, signal);
    for (const { reason } of invalid) log.warn({ reason }, 'ignoring a file that is no static pod manifest');
  } catch (error) {
    const isMissing = error instanceof NodemaintError && error.code === 'STATIC_POD_DIRECTORY_MISSING';
    if (!isMissing || config.staticPodPath !== undefined) throw error;
    log.warn({ directory: paths.staticPodPath }, 'no static pod directory yet');
  }
}

/** Finds the directories of this node's static pods. Throws for what a person has to correct before they can be used. */
export async function findStaticPods(
  dependencies: LocatorDependencies,
  nodeName: string,
  signal: AbortSignal,
): Promise<LocatedStaticPods> {
  const { state, log } = dependencies;
  const warnOfShutdown = createWarnOnce(log, 'the kubelet would kill pods itself');
  const warnOfUrl = createWarnOnce(log, 'static pods cannot be made to leave');
  let warnings: readonly (string | undefined)[] = [];
  const locate = async (until: AbortSignal): Promise<MoverPaths> => {
    const { paths, kubelet } = await locateStaticPods(dependencies, until);
    warnings = kubelet === undefined ? [] : [kubeletShutdownWarning(kubelet), staticPodUrlWarning(kubelet)];
    warnOfShutdown(warnings[0]);
    warnOfUrl(warnings[1]);
    return paths;
  };
  const paths = await locate(signal);
  // The content of a directory that is not trusted is not read.
  if ((await untrustedPlace(paths)) === undefined) await warnOfInvalid(dependencies, nodeName, paths, signal);
  return {
    paths,
    open: async () => {
      let store = await openStore(state, paths, log);
      return {
        store: () => store,
        relocate: async (until) => {
          const now = await locate(until);
          if (isDeepStrictEqual(now, store.paths)) return;
          try {
            store = await openStore(state, now, log);
            log.info(now, 'the static pod directory has changed');
          } catch (error) {
            // A drain continues with the directory that it knows.
            log.error({ ...now, reason: describeError(error) }, 'cannot use the new static pod directory');
          }
        },
        warnings: () => [store.refusal(), ...warnings].filter((warning) => warning !== undefined),
      };
    },
  };
}

const absolutePath = z.string().regex(/^\/[^\0]*$/);
const placeSchema = z.object({
  staticPodPath: absolutePath,
  parkedPath: absolutePath,
  only: z
    .string()
    .regex(/^(?!\.{1,2}$)[^/\0]+$/)
    .exactOptional(),
});
type Place = z.infer<typeof placeSchema>;

const PLACE_FILE = 'static-pods.json';

async function readPlace(state: StateFiles): Promise<Place | undefined> {
  try {
    return placeSchema.parse(JSON.parse((await state.read(PLACE_FILE)) ?? ''));
  } catch {
    // The record only helps to find the same directories again; without it they are determined as on the first start.
    return undefined;
  }
}

function placeOf({ staticPodPath, parkedPath, only }: MoverPaths): Place {
  return { staticPodPath, parkedPath, ...(only === undefined ? {} : { only }) };
}

/** Whether manifests are, or may be, parked there: a directory that cannot be read is not an empty one. */
async function mayHaveParked(parkedPath: string): Promise<boolean> {
  try {
    return (await readdir(parkedPath)).some((name) => !name.startsWith('.'));
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes(String(errorCodeOf(error)));
  }
}

/**
 * Finds the static pods' directories as the running kubelet has them, which is undefined while none runs; then the directories
 * that were used last are taken rather than the usual ones. Changes nothing.
 */
export async function locateStaticPods(
  { config, state, find, log }: LocatorDependencies,
  signal: AbortSignal,
): Promise<{ readonly paths: MoverPaths; readonly kubelet: KubeletFacts | undefined }> {
  const kubelet = await askKubelet(find, log, signal);
  const last = await readPlace(state);
  const used = last === undefined ? undefined : path.join(last.staticPodPath, last.only ?? '');
  const fallback = used ?? (await usualStaticPodPath());
  const { path: given, warning } = chooseStaticPodPath(config.staticPodPath, kubelet, fallback);
  if (warning !== undefined) log.warn({ reason: warning }, 'the kubelet has another static pod directory');
  const { stateDirectory, parkedPath } = config;
  const places = await findPlaces({ staticPodPath: given, parkedPath, stateDirectory });
  const found = { ...places, journalStandIn: path.join(config.runDirectory, 'journal') };
  if (last !== undefined && !isDeepStrictEqual(last, placeOf(found)) && (await mayHaveParked(last.parkedPath))) {
    const reason = `manifests of ${last.staticPodPath} lie parked in ${last.parkedPath}; going on with these until they are given back, then with ${given}`;
    log.warn({ reason }, 'the static pod directory has changed while manifests are parked');
    const { journalPath, journalStandIn } = found;
    return { paths: { ...last, journalPath, journalStandIn }, kubelet };
  }
  return { paths: found, kubelet };
}

/** Records the directories before a manifest is parked there. */
async function remember(state: StateFiles, paths: MoverPaths): Promise<void> {
  const place = placeOf(paths);
  if (isDeepStrictEqual(await readPlace(state), place)) return;
  await state.write(PLACE_FILE, `${JSON.stringify(place)}\n`);
}

/**
 * Opens the static pods' directories for writing, finishes the moves that were interrupted, and logs those that it cannot
 * finish. Directories that root must not act on are not changed until they are corrected, which is logged.
 */
export async function openStore(
  state: StateFiles,
  paths: MoverPaths,
  log: Pick<Log, 'info' | 'error'>,
): Promise<StaticPodStore> {
  const disk = createDisk();
  const mover = new Mover(paths, disk);
  let hasRecovered = false;
  let refusal: string | undefined;

  const recover = async (): Promise<void> => {
    await remember(state, paths);
    const { failed, missing, problems } = await mover.recover();
    hasRecovered = true;
    for (const reason of problems) log.error({ reason }, 'the disk of the static pods is not in order');
    for (const { file, reason } of failed)
      log.error({ manifest: file, reason }, 'a move that was interrupted stays so');
    for (const file of missing) log.error({ manifest: file }, 'a parked manifest has been taken away');
  };
  const check = async (): Promise<string | undefined> => {
    const before = refusal;
    refusal = await untrustedPlace(paths);
    if (refusal === undefined && !hasRecovered) {
      await recover();
      // The parked directory may have been made just now.
      refusal = await untrustedPlace(paths);
    }
    if (refusal !== undefined && refusal !== before) {
      log.error({ reason: refusal }, 'no manifest is moved');
    }
    if (refusal === undefined && before !== undefined) log.info({}, 'manifests are moved again');
    return refusal;
  };
  await check();
  return { paths, disk, mover, check, refusal: () => refusal };
}

/** Reads the running kubelet's configuration; one that cannot be read is logged and counts as none. */
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
