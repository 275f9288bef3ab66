/** Builds the control plane's programs and helm into the cache, where they are not there yet: minutes that would count as a test's. */
import path from 'node:path';
import { helmBinary } from '../helm/helm.ts';
import { controlPlaneBinaries } from './binaries.ts';

const { signal } = new AbortController();
const { kubelet } = await controlPlaneBinaries(signal);
await helmBinary(signal);
console.log(path.dirname(kubelet));
