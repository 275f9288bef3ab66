/** What the calls of a comparison have in common. */
import type { KubeObject } from '../../../src/api/meta.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import { EVICTION_REQUESTS, objectPath, PODS } from '../../../src/kube/resource.ts';
import type { Random } from '../../chaos/random.ts';

export const NAMESPACE = 'contract';
export const MANAGERS = ['one.example.com', 'two.example.com'] as const;
export const FINALIZER = 'contract.example.com/hold';

/** What the server that is called has said last of an object, by its path. */
export type Seen = ReadonlyMap<string, KubeObject>;

/** A call; UIDs and revisions in it are those of the server that it goes to. */
export interface Call {
  readonly what: string;
  request(seen: Seen): KubeRequest;
}

export const TIME = '2026-01-01T00:00:00Z';
export const pod = (name: string): string => objectPath(PODS, { name, namespace: NAMESPACE });
export const uidOf = (seen: Seen, name: string): string => seen.get(pod(name))?.metadata.uid ?? 'no-uid';
export const requestOf = (seen: Seen, name: string): string =>
  objectPath(EVICTION_REQUESTS, { name: uidOf(seen, name), namespace: NAMESPACE });
export const merge = (path: string, body: object): KubeRequest => ({
  method: 'PATCH',
  path,
  body,
  patch: { kind: 'merge' },
});

/** A resourceVersion to expect: none, that of the last answer, or one that never was. */
export function guardOf(random: Random): (seen: Seen, path: string) => object {
  const which = random.pick(['none', 'none', 'last', 'wrong']);
  return (seen, path) => {
    if (which === 'none') return {};
    return { resourceVersion: which === 'last' ? (seen.get(path)?.metadata.resourceVersion ?? '1') : '1' };
  };
}
