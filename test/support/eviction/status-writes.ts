import assert from 'node:assert/strict';
import { type AdmissionRig, assertAllowed, assertRefused, patchStatus, read } from '../rigs/admission.ts';

/** Three interceptors of a request, in order. */
export const [A, B, LAST] = ['a.example.com', 'b.example.com', 'imperative-eviction.k8s.io'] as const;
export const NAMES = [A, B, LAST];

/** The EvictionRequest controller writes fields of the status, which must be allowed. */
export async function allow(rig: AdmissionRig, name: string, status: object): Promise<void> {
  assertAllowed(await patchStatus(rig.controller, name, status));
}

/** The EvictionRequest controller writes fields of the status; the write is refused with these words and changes nothing. */
export async function refuse(rig: AdmissionRig, name: string, status: object | null, words: RegExp): Promise<void> {
  const old = await read(rig.admin, name);
  assertRefused(await patchStatus(rig.controller, name, status), words);
  assert.deepEqual(await read(rig.admin, name), old);
}
