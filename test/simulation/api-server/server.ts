/**
 * A small model of the API server: one request in, one answer out, at once and without processes. It knows what this program
 * relies on: revisions and conflicts, the kinds of patches with the owners of fields, finalizers and grace periods, status
 * subresources, evictions with budgets, and watches from a revision. It knows no rights, no admission policies, no namespaces and
 * no defaults of fields that this program does not read. test/integration/simulation compares it with a real one.
 */
import type { KubeObject } from '../../../src/api/meta.ts';
import type { NodeCondition, Pod } from '../../../src/api/pod.ts';
import { rfc3339 } from '../../../src/decide/time.ts';
import type { KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { type Answer, conflict, found, notFound, refused, SUCCESS } from './answer.ts';
import { type DeleteOptions, deletionOf } from './deletion.ts';
import { takePlace } from './eviction.ts';
import { placeOf, type Place, resourcesUnder } from './kinds.ts';
import { Objects } from './objects.ts';
import { selectionOf } from './selection.ts';
import { openWatch, type Watching } from './watching.ts';
import { create, writeObject } from './writes.ts';

/** The model. `handle` answers a request of a program, which is the owner of the fields that it writes. */
export interface ModelServer {
  readonly objects: Objects;
  handle(request: KubeRequest, program: string): KubeResponse;
  watch(path: string): Watching;
  /** Forgets the changes until now, as etcd does every few minutes: a watch from an older revision is answered with 410 Gone. */
  compact(): void;
}

function keyOfPlace({ namespace, name = '' }: Place): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

class Model implements ModelServer {
  readonly objects: Objects;
  readonly #now: () => number;
  #oldest = 0;

  readonly #discovers: boolean;

  constructor(now: () => number, { objects, discovers }: { readonly objects: Objects; readonly discovers: boolean }) {
    this.#now = now;
    this.#discovers = discovers;
    this.objects = objects;
  }

  handle(request: KubeRequest, program: string): KubeResponse {
    const { headers = {}, ...answer } = this.#answer(request, program);
    return {
      status: answer.status,
      body: answer.body,
      headers: { date: new Date(this.#now()).toUTCString(), ...headers },
    };
  }

  watch(path: string): Watching {
    return openWatch(this.objects, path, this.#oldest);
  }

  compact(): void {
    this.#oldest = this.objects.revision;
  }

  #answer(request: KubeRequest, program: string): Answer {
    const [path = '', search] = request.path.split('?');
    const query = new URLSearchParams(search);
    const place = placeOf(path);
    const served = this.#discovers ? resourcesUnder(path) : [];
    if (served.length > 0) return found({ kind: 'APIResourceList', resources: served.map((each) => ({ name: each })) });
    if (place === undefined) return refused(404, 'NotFound', 'the server could not find the requested resource');
    const { name, subresource } = place;
    const dryRun = query.get('dryRun') === 'All';
    if (name === undefined) return this.#onMany(request, place, query, program);
    const one = { ...place, name };
    if (subresource === 'eviction') return this.#evict(request, one, dryRun);
    const key = keyOfPlace(place);
    if (request.method === 'GET') {
      const stored = this.objects.get(place.kind, key);
      return stored === undefined ? notFound(`${place.kind} ${key}`) : found(stored.object);
    }
    if (request.method === 'DELETE') {
      const options = (request.body ?? {}) as DeleteOptions;
      return this.#delete(one, options, dryRun || options.dryRun?.includes('All') === true);
    }
    const manager = request.patch?.kind === 'apply' ? `apply ${request.patch.manager}` : program;
    const write = { place: one, key, request, manager: `${manager} ${subresource ?? ''}`, dryRun };
    return writeObject(this.objects, write, rfc3339(this.#now()));
  }

  #onMany(request: KubeRequest, place: Place, query: URLSearchParams, program: string): Answer {
    const selects = selectionOf(place, query);
    if (request.method === 'POST') return this.#create(request, place, program, query.get('dryRun') === 'All');
    const items = this.objects.list(place.kind).filter(selects);
    if (request.method === 'GET') {
      const named = request.namesOnly === true ? items.map(({ metadata }) => ({ metadata })) : items;
      return found({ metadata: { resourceVersion: String(this.objects.revision) }, items: named });
    }
    if (request.method !== 'DELETE') return refused(405, 'MethodNotAllowed', request.method);
    for (const { metadata } of items) this.#delete({ ...place, ...metadata }, {}, false);
    return found(SUCCESS);
  }

  #create(request: KubeRequest, place: Place, program: string, dryRun: boolean): Answer {
    const { name } = (request.body as KubeObject).metadata;
    const key = keyOfPlace({ ...place, name });
    if (this.objects.get(place.kind, key) !== undefined) {
      return refused(409, 'AlreadyExists', `${place.kind} ${key} already exists`);
    }
    const write = { place: { ...place, name }, request, manager: `${program} `, dryRun };
    return create(this.objects, write, rfc3339(this.#now()));
  }

  #delete(place: Place, options: DeleteOptions, dryRun: boolean): Answer {
    const key = keyOfPlace(place);
    const stored = this.objects.get(place.kind, key);
    if (stored === undefined) return notFound(`${place.kind} ${key}`);
    const { object, owners } = stored;
    const { uid, resourceVersion } = options.preconditions ?? {};
    if (uid !== undefined && uid !== object.metadata.uid) return conflict('Precondition failed: UID');
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) {
      return conflict('Precondition failed: ResourceVersion');
    }
    const deletion = deletionOf(place.kind, object, options, this.#now());
    if (deletion.kind === 'unchanged' || dryRun) return found(object);
    if (deletion.kind === 'marked') return found(this.objects.put(place.kind, deletion.object, owners));
    this.objects.remove(place.kind, object);
    return found(SUCCESS);
  }

  #evict(request: KubeRequest, place: Place & { readonly name: string }, dryRun: boolean): Answer {
    const key = keyOfPlace(place);
    const stored = this.objects.get('Pod', key);
    if (stored === undefined) return notFound(`pods "${place.name}"`);
    const pod = stored.object as Pod;
    const { deleteOptions = {} } = request.body as { deleteOptions?: DeleteOptions };
    const { uid } = deleteOptions.preconditions ?? {};
    if (uid !== undefined && uid !== pod.metadata.uid) return conflict('Precondition failed: UID');
    const now = rfc3339(this.#now());
    const isDry = dryRun || deleteOptions.dryRun?.includes('All') === true;
    const refusal = takePlace(this.objects, pod, isDry, now);
    if (refusal !== undefined) return refusal;
    if (!isDry) this.#markDisrupted(pod, now);
    const answer = this.#delete(place, deleteOptions, isDry);
    return answer.status === 200 ? found(SUCCESS, 201) : answer;
  }

  /** The condition by which a pod says why it ends. */
  #markDisrupted(pod: Pod, now: string): void {
    const why = { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' };
    const before: readonly NodeCondition[] = pod.status?.conditions ?? [];
    const known = before.find(({ type }) => type === 'DisruptionTarget');
    // Its time is that of the first eviction, and where nothing else changes nothing is written.
    const since = known?.status === 'True' ? known.lastTransitionTime : undefined;
    if (since !== undefined && known?.reason === why.reason && known.message === why.message) return;
    const condition = { type: 'DisruptionTarget', status: 'True', ...why, lastTransitionTime: since ?? now };
    const conditions = [...before.filter(({ type }) => type !== condition.type), condition];
    const owners = this.objects.get('Pod', keyOfPlace(pod.metadata as unknown as Place))?.owners ?? new Map();
    this.objects.put('Pod', { ...pod, status: { ...pod.status, conditions } } as KubeObject, owners);
  }
}

/**
 * Makes a model with these objects, none unless given; `now` is its clock, in milliseconds since the epoch. Only one that
 * `discovers` says which resources it has.
 */
export function createModelServer(
  now: () => number,
  { objects = new Objects(now), discovers = false }: { readonly objects?: Objects; readonly discovers?: boolean } = {},
): ModelServer {
  return new Model(now, { objects, discovers });
}
