import type { KubeObject } from '../../src/api/meta.ts';
import { NodemaintError } from '../../src/errors.ts';
import type { KubeClient, KubeRequest, KubeResponse } from '../../src/kube/client.ts';
import { collectionOf, copyOf, type Scope, scopedPath } from './scope.ts';
import { isWrite, type Trace } from './trace.ts';
import { Watched, type WatchEvent } from './watched.ts';

/** One run of a program. */
export interface Life {
  /** Aborted when the program ends without warning: no call of it arrives any more, and no answer comes. */
  readonly ended: AbortSignal;
  /** Ends the program without warning. */
  crash(): void;
}

/** What a client of a program is made from. */
interface PerturbingOptions {
  readonly scope: Scope;
  readonly trace: Trace;
  readonly life: Life;
}

interface List {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly KubeObject[];
}

/** Whether the path is that of a later page of a list. */
function isLaterPage(path: string): boolean {
  return new URLSearchParams(path.split('?')[1]).has('continue');
}

function isOfScope({ metadata, ...object }: KubeObject, { owns }: Scope): boolean {
  return metadata.namespace !== undefined || owns({ ...object, metadata });
}

/** The events of a watch without those of objects of other plans. */
async function* ownEvents(source: AsyncIterable<unknown>, scope: Scope): AsyncGenerator {
  for await (const event of source) {
    const { type, object } = event as WatchEvent;
    if (type === 'ERROR' || type === 'BOOKMARK' || isOfScope(object, scope)) yield event;
  }
}

/** The client of one life of a program: what the plan says becomes of its writes, its events and its lists. */
export function createPerturbingClient(inner: KubeClient, { scope, trace, life }: PerturbingOptions): KubeClient {
  const copies = new Map<string, Watched>();
  const limited = (path: string): string => scopedPath(path, scope);
  const watchedOf = (path: string, resource: string): Watched => {
    const known = copies.get(copyOf(path)) ?? new Watched(resource, trace);
    copies.set(copyOf(path), known);
    return known;
  };

  const read = async (request: KubeRequest, until: AbortSignal): Promise<KubeResponse> => {
    const resource = collectionOf(request.path);
    const path = limited(request.path);
    const past = isLaterPage(path) ? undefined : copies.get(copyOf(request.path))?.takePast();
    const answer = await inner.send({ ...request, path }, until);
    if (past !== undefined) return { ...answer, body: past };
    if (resource === undefined || isLaterPage(path) || answer.status !== 200) return answer;
    const { metadata, items: all = [] } = answer.body as List;
    const items = all.filter((item) => isOfScope(item, scope));
    // Of a list in several pages there is no past.
    if ((metadata.continue ?? '') === '') {
      watchedOf(request.path, resource).listed(metadata.resourceVersion ?? '', items);
    }
    return { ...answer, body: { metadata, items } };
  };

  const write = async (request: KubeRequest, until: AbortSignal): Promise<KubeResponse> => {
    const fate = trace.write(request);
    if (fate === 'crash before') life.crash();
    life.ended.throwIfAborted();
    const answer = await inner.send(request, until);
    trace.hasWritten();
    if (fate === 'crash after') life.crash();
    life.ended.throwIfAborted();
    if (fate !== 'answer lost') return answer;
    throw new NodemaintError('API_UNREACHABLE', `the answer to ${request.method} ${request.path} is lost`);
  };

  return {
    send: async (request, signal) => {
      life.ended.throwIfAborted();
      const until = AbortSignal.any([signal, life.ended]);
      const answer = isWrite(request) ? await write(request, until) : await read(request, until);
      life.ended.throwIfAborted();
      return answer;
    },
    watch: async function* (path, signal) {
      const until = AbortSignal.any([signal, life.ended]);
      const source = ownEvents(inner.watch(limited(path), until), scope);
      const resource = collectionOf(path);
      yield* resource === undefined ? source : watchedOf(path, resource).perturbed(source);
    },
    close: () => {
      inner.close();
    },
  };
}
