/** kubeadm of two releases, and the etcd that the later one wants, each built once from its Go module. */
import path from 'node:path';
import { linkerFlags } from '../control-plane/binaries.ts';
import { defaultRelease, releaseOf } from '../control-plane/releases.ts';
import { goProgram, linkedGoProgram } from '../support/go-program.ts';

/** The releases of the upgrade. */
export const BEFORE = defaultRelease();
export const AFTER = releaseOf('1.37');

/** The paths of the programs that a control plane does not have yet. */
export interface KubeadmPrograms {
  readonly before: string;
  readonly after: string;
  /** etcd of the version that the later kubeadm asks for. */
  readonly laterEtcd: string;
}

/** The programs; the first call of a machine builds them, which takes minutes. */
export async function kubeadmPrograms(signal: AbortSignal): Promise<KubeadmPrograms> {
  const kubeadm = async (release: typeof BEFORE): Promise<string> => {
    const module = path.join(import.meta.dirname, `kubernetes-${release.minor}`);
    return await linkedGoProgram('kubeadm', { module, ldflags: linkerFlags(release) }, signal);
  };
  const before = await kubeadm(BEFORE);
  const after = await kubeadm(AFTER);
  const laterEtcd = await goProgram('kubeadm', path.join(import.meta.dirname, 'etcd-3.7'), signal);
  return { before, after, laterEtcd };
}
