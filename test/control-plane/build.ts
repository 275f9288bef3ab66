/** Builds the control plane's programs into the cache, where they are not there yet: minutes that would count as a test's. */
import path from 'node:path';
import { controlPlaneBinaries } from './binaries.ts';

const { kubelet } = await controlPlaneBinaries(new AbortController().signal);
console.log(path.dirname(kubelet));
