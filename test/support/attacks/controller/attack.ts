import type { KubeRequest } from '../../../../src/kube/client.ts';

/** What an attacker with a stolen token tries, and the words of the refusal. */
export interface Attack {
  readonly what: string;
  readonly request: KubeRequest;
  readonly words: RegExp;
}

/** A merge patch. */
export const merge = (what: string, target: string, body: object, words: RegExp): Attack => ({
  what,
  request: { method: 'PATCH', path: target, body, patch: { kind: 'merge' } },
  words,
});
/** A strategic patch. */
export const strategic = (what: string, target: string, body: object, words: RegExp): Attack => ({
  what,
  request: { method: 'PATCH', path: target, body, patch: { kind: 'strategic' } },
  words,
});
/** Any other call. */
export const json = (
  what: string,
  method: 'POST' | 'PUT' | 'DELETE' | 'GET',
  target: string,
  body: object | undefined,
  words: RegExp,
): Attack => ({ what, request: { method, path: target, ...(body === undefined ? {} : { body }) }, words });
