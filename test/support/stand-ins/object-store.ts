import { once } from 'node:events';
import type { KubeObject } from '../../../src/api/meta.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { collectionPath, keyOf, type Resource } from '../../../src/kube/resource.ts';

/** Objects in memory, listed and watched through the interface of the Kubernetes client. Selectors are not applied. */
export interface ObjectStore {
  readonly client: KubeClient;
  put(resource: Resource, object: KubeObject): void;
  remove(resource: Resource, key: string): void;
  /** Every list and watch fails with this error from now on; undefined lets them succeed again. */
  failWith(error: Error | undefined): void;
}

interface Change {
  readonly version: number;
  readonly path: string;
  readonly event: { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject };
}

/** Makes a store without objects. */
export function createObjectStore(): ObjectStore {
  const collections = new Map<string, Map<string, KubeObject>>();
  const history: Change[] = [];
  const changed = new EventTarget();
  let version = 1;
  let failure: Error | undefined;
  const collection = (path: string): Map<string, KubeObject> => {
    const found = collections.get(path) ?? new Map<string, KubeObject>();
    collections.set(path, found);
    return found;
  };
  /** The list of all namespaces and that of one have paths of their own. */
  const pathsOf = (resource: Resource, namespace: string | undefined): ReadonlySet<string> =>
    new Set([collectionPath(resource), collectionPath(resource, namespace)]);
  const record = (path: string, type: Change['event']['type'], object: KubeObject): void => {
    history.push({ version, path, event: { type, object } });
  };
  return {
    client: {
      send: async ({ path }) => {
        await Promise.resolve();
        if (failure !== undefined) throw failure;
        const items = [...collection(path.split('?')[0] ?? '').values()];
        return { status: 200, headers: {}, body: { metadata: { resourceVersion: String(version) }, items } };
      },
      // Begins after the version of the list, as the API server does: no change between the two is lost.
      watch: async function* (path, signal) {
        if (failure !== undefined) throw failure;
        const [name = '', query] = path.split('?');
        const since = Number(new URLSearchParams(query).get('resourceVersion'));
        let next = 0;
        while (!signal.aborted) {
          for (; next < history.length; next += 1) {
            const change = history[next];
            if (change?.path === name && change.version > since) yield change.event;
          }
          await once(changed, 'change', { signal }).catch(() => undefined);
        }
      },
      close: () => undefined,
    },
    put: (resource, object) => {
      version += 1;
      const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
      for (const path of pathsOf(resource, object.metadata.namespace)) {
        record(path, collection(path).has(keyOf(object)) ? 'MODIFIED' : 'ADDED', stored);
        collection(path).set(keyOf(object), stored);
      }
      changed.dispatchEvent(new Event('change'));
    },
    remove: (resource, key) => {
      version += 1;
      const [namespace] = key.includes('/') ? key.split('/') : [undefined];
      for (const path of pathsOf(resource, namespace)) {
        const object = collection(path).get(key);
        if (object !== undefined) record(path, 'DELETED', object);
        collection(path).delete(key);
      }
      changed.dispatchEvent(new Event('change'));
    },
    failWith: (error) => (failure = error),
  };
}
