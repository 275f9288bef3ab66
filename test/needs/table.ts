/** What the test files need that takes minutes to make, and who makes it. A file waits for what it imports. */
import { nfpmBinary } from '../../.ci/nfpm.ts';
import { clientPrograms } from '../control-plane/clients.ts';
import { machineImage } from '../e2e/machine/image.ts';
import { foreignCrds } from '../helm/crds/crds.ts';
import { helmDocsBinary } from '../helm/docs/helm-docs.ts';
import { kubeadmPrograms } from '../kubeadm/programs.ts';
import { prometheusBinaries } from '../prometheus/prometheus.ts';
import { clusterSeed } from '../support/commands/installed-cluster.ts';
import { systemRoot } from '../systemd/roots.ts';
import type { Need } from './declared.ts';

/** A need, and who makes it. */
export interface Row {
  readonly need: Need;
  make(signal: AbortSignal): Promise<unknown>;
  /** The file that asks for it: each test file that imports this one, directly or not, waits until the need is made. */
  readonly module: string;
}

/** In the order in which the needs are made: what most files wait for comes first. */
export const TABLE: readonly Row[] = [
  { need: 'clients', make: clientPrograms, module: 'test/control-plane/clients.ts' },
  // With the cluster from which most of their clusters begin.
  { need: 'kubernetes', make: async (signal) => await clusterSeed(signal), module: 'test/control-plane/binaries.ts' },
  { need: 'root-12', make: async (signal) => await systemRoot('12', signal), module: 'test/systemd/roots.ts' },
  { need: 'foreign-crds', make: foreignCrds, module: 'test/helm/crds/crds.ts' },
  { need: 'nfpm', make: nfpmBinary, module: '.ci/nfpm.ts' },
  { need: 'helm-docs', make: helmDocsBinary, module: 'test/helm/docs/helm-docs.ts' },
  { need: 'machine', make: machineImage, module: 'test/e2e/machine/machine.ts' },
  ...(['13', 'unstable'] as const).map((debian): Row => {
    const make = async (signal: AbortSignal): Promise<unknown> => await systemRoot(debian, signal);
    return { need: `root-${debian}`, make, module: 'test/e2e/systems.test.ts' };
  }),
  { need: 'prometheus', make: prometheusBinaries, module: 'test/prometheus/prometheus.ts' },
  { need: 'kubeadm', make: kubeadmPrograms, module: 'test/kubeadm/programs.ts' },
];
