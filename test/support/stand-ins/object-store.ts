import type { KubeObject } from '../../../src/api/meta.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import type { Resource } from '../../../src/kube/resource.ts';
import { KIND_RULES, type ModelKind } from '../../simulation/api-server/kinds.ts';
import { createModelServer } from '../../simulation/api-server/server.ts';

/** The model of the API server, listed and watched through the interface of the Kubernetes client. */
export interface ObjectStore {
  readonly client: KubeClient;
  put(resource: Resource, object: KubeObject): void;
  remove(resource: Resource, key: string): void;
  /** Every list and watch fails with this error from now on; undefined lets them succeed again. */
  failWith(error: Error | undefined): void;
}

function kindOf(resource: Resource): ModelKind {
  const kinds = Object.keys(KIND_RULES) as readonly ModelKind[];
  const kind = kinds.find((each) => KIND_RULES[each].resource === resource);
  if (kind === undefined) throw new Error(`the model has no ${resource.plural}`);
  return kind;
}

/** Makes a store without objects. */
export function createObjectStore(): ObjectStore {
  const server = createModelServer(Date.now);
  const { objects } = server;
  let failure: Error | undefined;
  const changed = async (signal: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const over = (): void => resolve(undefined);
    const stop = objects.onChange(over);
    signal.addEventListener('abort', over, { once: true });
    await promise;
    stop();
    signal.removeEventListener('abort', over);
  };
  return {
    client: {
      send: async (request) => {
        await Promise.resolve();
        if (failure !== undefined) throw failure;
        return server.handle(request, 'somebody');
      },
      watch: async function* (path, signal) {
        if (failure !== undefined) throw failure;
        const watching = server.watch(path);
        while (!signal.aborted) {
          for (let next = watching.next(); next !== undefined; next = watching.next()) yield next.event;
          await changed(signal);
        }
      },
      close: () => undefined,
    },
    put: (resource, object) => {
      objects.put(kindOf(resource), object, new Map());
    },
    remove: (resource, key) => {
      const kind = kindOf(resource);
      const stored = objects.get(kind, key);
      if (stored !== undefined) objects.remove(kind, stored.object);
    },
    failWith: (error) => (failure = error),
  };
}
