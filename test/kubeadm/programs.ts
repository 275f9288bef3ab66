/** kubeadm of two releases, and the components of both, each built once from its Go module. */
import path from 'node:path';
import { type Binaries, linkerFlags, releaseBinaries } from '../control-plane/binaries.ts';
import { defaultRelease, releaseOf } from '../control-plane/releases.ts';
import { linkedGoProgram } from '../support/go-program.ts';

/** The releases of the upgrade. */
export const BEFORE = releaseOf('1.36');
export const AFTER = defaultRelease();

/** The programs of a release. */
export interface KubeadmRelease {
  readonly kubeadm: string;
  readonly components: Binaries;
}

async function programsOf(release: typeof BEFORE, signal: AbortSignal): Promise<KubeadmRelease> {
  const module = path.join(import.meta.dirname, `kubernetes-${release.minor}`);
  const kubeadm = await linkedGoProgram('kubeadm', { module, ldflags: linkerFlags(release) }, signal);
  return { kubeadm, components: await releaseBinaries(release, signal) };
}

/** The programs of both releases; the first call of a machine builds them, which takes minutes. */
export async function kubeadmPrograms(
  signal: AbortSignal,
): Promise<{ readonly before: KubeadmRelease; readonly after: KubeadmRelease }> {
  return { before: await programsOf(BEFORE, signal), after: await programsOf(AFTER, signal) };
}
