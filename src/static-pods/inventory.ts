/** Lists the manifests in place and the parked ones. */
import path from 'node:path';
import { NodemaintError } from '../errors.ts';
import { type ManifestDirectory, readManifests } from './directory.ts';
import type { Disk } from './disk/disk.ts';
import type { ParkStep } from './journal/journal.ts';
import type { Manifest } from './manifest/manifest.ts';
import type { MoverPaths } from './places.ts';

/**
 * Reads the manifests in place. If the kubelet's path is a file and that file is missing, there are none.
 *
 * @throws NodemaintError as `readManifests`.
 */
export async function readInPlace(
  { staticPodPath, only }: MoverPaths,
  nodeName: string,
  signal: AbortSignal,
): Promise<ManifestDirectory> {
  if (only === undefined) return await readManifests(staticPodPath, nodeName, signal);
  try {
    return await readManifests(path.join(staticPodPath, only), nodeName, signal);
  } catch (error) {
    if (!(error instanceof NodemaintError) || error.code !== 'STATIC_POD_DIRECTORY_MISSING') throw error;
    return { manifests: [], invalid: [] };
  }
}

/**
 * Reads the parked manifests. Each is the pod that the journal recorded when it was parked, because that is what the kubelet
 * ran: the file may have been changed since, and a relative link may be broken in this directory. Files without a journal
 * entry are parsed; those that are not pods are ignored.
 *
 * @throws NodemaintError FILE_OPERATION_FAILED if the directory cannot be listed; the signal's reason when it is aborted.
 */
export async function readParked(
  { parkedPath, nodeName }: Pick<MoverPaths, 'parkedPath'> & { readonly nodeName: string },
  steps: ReadonlyMap<string, ParkStep>,
  disk: Pick<Disk, 'list'>,
  signal: AbortSignal,
): Promise<readonly Manifest[]> {
  const names = await disk.list(parkedPath);
  if (names.length === 0) return [];
  const { manifests } = await readManifests(parkedPath, nodeName, signal);
  const read = new Map(manifests.map((manifest) => [manifest.file, manifest]));
  return names.flatMap((file) => {
    const [step, manifest] = [steps.get(file), read.get(file)];
    if (step?.pod === undefined) return manifest ?? [];
    return { annotations: {}, sha256: step.sha256, ...manifest, ...step.pod, kind: 'pod' as const, file };
  });
}
