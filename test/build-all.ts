/** Builds the control plane, helm, nfpm and the machine's image into the cache, in one process: it loads nothing while it runs. */
import { nfpmBinary } from '../.ci/nfpm.ts';
import { controlPlaneBinaries } from './control-plane/binaries.ts';
import { machineImage } from './e2e/machine/image.ts';
import { helmBinary } from './helm/helm.ts';

const { signal } = new AbortController();
await controlPlaneBinaries(signal);
await helmBinary(signal);
await nfpmBinary(signal);
await machineImage(signal);
