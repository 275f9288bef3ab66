/** What the test files need that takes minutes to make, and who makes it. A unit test compares it with what the files ask for. */
import path from 'node:path';
import { nfpmBinary } from '../../.ci/nfpm.ts';
import { controlPlaneBinaries } from '../control-plane/binaries.ts';
import { releaseOf } from '../control-plane/releases.ts';
import { machineImage } from '../e2e/machine/image.ts';
import { ec2MetadataMockBinary } from '../ec2-metadata-mock/binary.ts';
import { foreignCrds } from '../helm/crds/crds.ts';
import { kubeconformBinary } from '../helm/kubeconform/kubeconform.ts';
import { helmDocsBinary } from '../helm/docs/helm-docs.ts';
import { helmBinary } from '../helm/helm.ts';
import { krewBinary } from '../krew/krew.ts';
import { kubeadmPrograms } from '../kubeadm/programs.ts';
import { prometheusBinaries } from '../prometheus/prometheus.ts';
import { clusterSeed } from '../support/commands/installed-cluster.ts';
import { systemRoot } from '../systemd/roots.ts';
import type { Need } from './declared.ts';

/** A need, and the files of which it is one. */
export interface Row {
  readonly need: Need;
  make(signal: AbortSignal): Promise<unknown>;
  /** Patterns of the files, below test/ and without `.test.ts`. */
  readonly files: readonly string[];
  /** Whether they ask for it only with NODEMAINT_TESTS=all. */
  readonly thorough?: true;
}

/** In the order in which the needs are made: what most files wait for comes first. */
export const TABLE: readonly Row[] = [
  // With the cluster from which most of their clusters begin.
  {
    need: 'kubernetes',
    make: async (signal) => await clusterSeed(signal),
    files: ['integration/**/*', 'e2e/*'],
  },
  {
    need: 'helm',
    make: helmBinary,
    files: ['integration/controller/{chart,chart-pools,chart-refusals,chart-values,installation-order}'],
  },
  { need: 'helm', make: helmBinary, files: ['e2e/pools'], thorough: true },
  { need: 'helm-docs', make: helmDocsBinary, files: ['integration/controller/chart-values'], thorough: true },
  { need: 'kubeconform', make: kubeconformBinary, files: ['integration/controller/chart-values'], thorough: true },
  { need: 'foreign-crds', make: foreignCrds, files: ['integration/controller/chart-values'] },
  { need: 'nfpm', make: nfpmBinary, files: ['integration/machine/package'] },
  {
    need: 'nfpm',
    make: nfpmBinary,
    files: ['integration/release/{architectures,reproducible}', 'e2e/{package-in-cluster,package-machine,rpm,systems}'],
    thorough: true,
  },
  {
    need: 'ec2-metadata-mock',
    make: ec2MetadataMockBinary,
    files: ['integration/notices/{auto-scaling,ec2-metadata-mock}'],
  },
  {
    need: 'api-server-1.37',
    make: async (signal) => await clusterSeed(signal, { apiServer: releaseOf('1.37') }),
    files: ['integration/drain/pod-groups', 'integration/{lifecycle,matrix}/*', 'integration/addons/lifecycle/*'],
  },
  {
    need: 'kubernetes-1.37',
    make: async (signal) => await controlPlaneBinaries(signal, { release: releaseOf('1.37') }),
    files: ['integration/lifecycle/node', 'e2e/kubeadm-upgrade'],
    thorough: true,
  },
  { need: 'machine', make: machineImage, files: ['e2e/*'] },
  {
    need: 'root-12',
    make: async (signal) => await systemRoot('12', signal),
    files: ['e2e/{doctor-advice,fleet,kubeadm-upgrade,package-in-cluster,pools,systems}', 'e2e/{power-off,reboot}-*'],
  },
  ...(['11', '13', 'unstable'] as const).map((debian): Row => {
    const make = async (signal: AbortSignal): Promise<unknown> => await systemRoot(debian, signal);
    return { need: `root-${debian}`, make, files: ['e2e/systems'], thorough: true };
  }),
  {
    need: 'prometheus',
    make: prometheusBinaries,
    files: ['integration/metrics/{dashboard,prometheus}', 'e2e/pools'],
    thorough: true,
  },
  { need: 'kubeadm', make: kubeadmPrograms, files: ['e2e/kubeadm-upgrade'], thorough: true },
  { need: 'krew', make: krewBinary, files: ['integration/release/plugin'], thorough: true },
];

/** Whether a row is of a file, such as `test/e2e/fleet.test.ts`. */
export function isOf({ files }: Row, file: string): boolean {
  return files.some((pattern) => path.matchesGlob(file, `test/${pattern}.test.ts`));
}

/** What a file needs, in the order in which it is made; `thorough` is whether all tests run. */
export function needsOf(file: string, thorough: boolean): readonly Need[] {
  const rows = TABLE.filter((row) => (thorough || row.thorough !== true) && isOf(row, file));
  return [...new Set(rows.map(({ need }) => need))];
}
