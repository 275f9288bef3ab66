/** Builds the control plane's programs, helm and nfpm into the cache, where they are not there yet: minutes that would count as a test's. */
import path from 'node:path';
import { nfpmBinary } from '../../.ci/nfpm.ts';
import { helmBinary } from '../helm/helm.ts';
import { controlPlaneBinaries } from './binaries.ts';

const { signal } = new AbortController();
const { kubelet } = await controlPlaneBinaries(signal);
await helmBinary(signal);
await nfpmBinary(signal);
console.log(path.dirname(kubelet));
