/** What there is to move: the manifests in place, and the parked ones, whatever may have become of those meanwhile. */
import path from 'node:path';
import { NodemaintError } from '../errors.ts';
import { type ManifestDirectory, readManifests } from './directory.ts';
import type { Disk } from './disk.ts';
import type { ParkStep } from './journal/journal.ts';
import type { Manifest } from './manifest/manifest.ts';
import type { MoverPaths } from './places.ts';

/**
 * The manifests that the kubelet reads. Where its path is one file and that file is away, there are none.
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
 * The parked manifests. Each is the pod that the journal says it was when it was parked, as that is what the kubelet runs:
 * its file may since have been written on, and a relative link leads nowhere from here. Files that no step parked are
 * read; those that are no pods are nobody's.
 *
 * @throws NodemaintError FILE_OPERATION_FAILED if the directory cannot be listed; the signal's reason when it is aborted.
 */
export async function readParked(
  { parkedPath }: MoverPaths,
  steps: ReadonlyMap<string, ParkStep>,
  disk: Pick<Disk, 'list'>,
  nodeName: string,
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
