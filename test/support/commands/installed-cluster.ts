/**
 * A control plane with the manifests on it. They are installed once, and the objects of that cluster are kept in the cache:
 * to begin from them takes a third of the processor time of a first start and an installation.
 */
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { controlPlaneBinaries } from '../../control-plane/binaries.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  SEED_PARTS,
  startControlPlane,
} from '../../control-plane/control-plane.ts';
import { cacheFolder } from '../go-program.ts';
import { applyManifests, manifestsFor, useManifests } from './nodemaint.ts';

/**
 * The policies with parameters, which are applied after each start: an API server that has them when it starts looks for the
 * kinds of their parameters before it serves those of CRDs, and looks again half a minute later. The gate lets pods pass until then.
 */
const LATE = 'late.yaml';
const HAS_PARAMETERS = /^ {2}paramKind:$/m;
const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', 'manifests');

export interface InstalledCluster {
  readonly controlPlane: ControlPlane;
  /** Of the controller's service account. */
  readonly controllerKubeconfig: string;
}

/** The folder of a cluster of these programs with these manifests. */
async function seedFolder(signal: AbortSignal): Promise<string> {
  const { etcd, 'kube-apiserver': apiServer } = await controlPlaneBinaries(signal);
  // Of another recipe it is another cluster.
  const hash = createHash('sha256').update(await readFile(import.meta.filename));
  for (const program of [etcd, apiServer]) {
    const { size, mtimeMs } = await stat(program);
    hash.update(`${program} ${size} ${mtimeMs}\n`);
  }
  for (const file of globSync('**/*.yaml', { cwd: MANIFESTS }).sort()) {
    hash.update(`${file}\n`).update(await readFile(path.join(MANIFESTS, file)));
  }
  return path.join(cacheFolder('clusters'), hash.digest('hex').slice(0, 16));
}

function isThere(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    () => false,
  );
}

/** Installs the manifests on a new cluster, ends it, and keeps its objects under this name: all of them, or none. */
async function makeSeed(folder: string, signal: AbortSignal): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  const dataFolder = await mkdtemp(`${folder}.`);
  try {
    {
      await using controlPlane = await startControlPlane({ dataFolder }, signal);
      const all = (await manifestsFor(controlPlane)).split(/^---$/m);
      const late = all.filter((document) => HAS_PARAMETERS.test(document));
      await applyManifests(controlPlane, all.filter((document) => !late.includes(document)).join('\n---\n'));
      await writeFile(path.join(dataFolder, LATE), late.join('\n---\n'));
    }
    const others = (await readdir(dataFolder)).filter((name) => name !== LATE && !SEED_PARTS.includes(name));
    for (const name of others) await rm(path.join(dataFolder, name), { recursive: true });
    await rename(dataFolder, folder);
  } catch (error) {
    await rm(dataFolder, { recursive: true });
    // Another process may have made it meanwhile.
    if (!(await isThere(folder))) throw error;
  }
}

/** Installs the manifests for the clusters to begin from, where no run has done so; returns the folder of the objects. */
export async function clusterSeed(signal: AbortSignal): Promise<string> {
  const folder = await seedFolder(signal);
  if (!(await isThere(folder))) await makeSeed(folder, signal);
  return folder;
}

/** Starts a control plane with the manifests, without their Deployment. */
export async function startInstalledCluster(
  options: ControlPlaneOptions,
  signal: AbortSignal,
): Promise<InstalledCluster & AsyncDisposable> {
  const seed = await clusterSeed(signal);
  await using stack = new AsyncDisposableStack();
  const controlPlane = stack.use(await startControlPlane({ ...options, seed }, signal));
  const controllerKubeconfig = await useManifests(controlPlane);
  await controlPlane.kubectl(['apply', '-f', path.join(seed, LATE)]);
  const owned = stack.move();
  return { controlPlane, controllerKubeconfig, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
