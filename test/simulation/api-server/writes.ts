/** What a write makes of an object: which part it may change, whether it fits what was read, and who owns the fields then. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject, ObjectMeta } from '../../../src/api/meta.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import { mergePatch } from '../../../src/decide/json.ts';
import { type Answer, conflict, found, notFound, refused } from './answer.ts';
import { isEnded } from './deletion.ts';
import { fieldsOf, isWithin, type Json, mergeByKeys, type Owners, ownersAfter, withoutField } from './fields.ts';
import { KIND_RULES, type KindRules, type ModelKind, type Place } from './kinds.ts';
import type { Objects, Stored } from './objects.ts';
import { defaulted, problemOf } from './rules.ts';

/** A write to one object, and who makes it. */
export interface Write {
  readonly place: Place & { readonly name: string };
  readonly key: string;
  readonly request: KubeRequest;
  readonly manager: string;
  readonly dryRun: boolean;
}

/** Labels, annotations and finalizers that are empty are not there. */
function withoutEmpty(metadata: ObjectMeta): ObjectMeta {
  const entries = Object.entries(metadata).filter(([name, value]) => {
    if (name === 'labels' || name === 'annotations') return Object.keys(value as object).length > 0;
    return name !== 'finalizers' || (value as readonly string[]).length > 0;
  });
  return Object.fromEntries(entries) as unknown as ObjectMeta;
}

/** What no client changes. */
function fixedMeta(old: ObjectMeta): Partial<ObjectMeta> {
  const { name, namespace, uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation } = old;
  const all = { name, namespace, uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** An object of any kind, with its status. */
type WithStatus = KubeObject & { readonly status?: unknown };

/** The old object with the part of the new one that a write to this subresource may change. */
function partOf(rules: KindRules, place: Place, old: WithStatus, fresh: WithStatus): WithStatus {
  const own: WithStatus = { ...fresh, metadata: withoutEmpty({ ...fresh.metadata, ...fixedMeta(old.metadata) }) };
  if (place.subresource === 'status') {
    const metadata = rules.statusWritesMetadata ? own.metadata : old.metadata;
    return { ...old, metadata, status: fresh.status };
  }
  if (!rules.hasStatus) return own;
  const { status: _, ...rest } = own;
  return { ...rest, ...(old.status === undefined ? {} : { status: old.status }) };
}

/** The object with its generation counted up where its spec has changed. */
function counted(rules: KindRules, old: KubeObject, fresh: KubeObject): KubeObject {
  const specOf = (object: KubeObject): unknown => (object as unknown as Json)['spec'];
  if (!rules.hasGeneration || isDeepStrictEqual(specOf(old), specOf(fresh))) return fresh;
  return { ...fresh, metadata: { ...fresh.metadata, generation: (old.metadata.generation ?? 1) + 1 } };
}

function withoutVersion(object: KubeObject): object {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function sameOwners(a: Owners, b: Owners): boolean {
  return isDeepStrictEqual(new Map(a), new Map(b));
}

/** What a body of a client makes of the stored object, before it is known which part of that is taken. */
function bodyOn({ object }: Stored, owners: Owners, { request, manager, place }: Write): KubeObject {
  const { keyedLists } = KIND_RULES[place.kind];
  const old = object as unknown as Json;
  const body = request.body as Json;
  if (request.method === 'PUT') return body as unknown as KubeObject;
  if (request.patch?.kind === 'merge') return mergePatch(old, body) as KubeObject;
  const merged = mergeByKeys(old, body, keyedLists) as Json;
  if (request.patch?.kind !== 'apply') return merged as unknown as KubeObject;
  const sets = fieldsOf(body, keyedLists);
  const others = [...owners].filter(([name]) => name !== manager).flatMap(([, fields]) => [...fields]);
  const kept = [...sets.keys(), ...others];
  const left = [...(owners.get(manager) ?? [])].filter((field) => !kept.some((each) => isWithin(each, field)));
  return left.reduce((value, field) => withoutField(value, field, keyedLists), merged) as unknown as KubeObject;
}

/** A PUT has the UID as a precondition; to a patch it is a field that may not change. */
function wrongUid({ method }: KubeRequest): Answer {
  if (method === 'PUT') return conflict('Precondition failed: UID');
  const cause = { reason: 'FieldValueInvalid', message: 'field is immutable', field: 'metadata.uid' };
  return refused(422, 'Invalid', 'metadata.uid: field is immutable', { causes: [cause] });
}

/** Changes an object that is there. */
function change(objects: Objects, stored: Stored, write: Write): Answer {
  const { place, request, manager, dryRun } = write;
  const rules: KindRules = KIND_RULES[place.kind];
  const { object: old, owners } = stored;
  const { uid, resourceVersion } = ((request.body as Json)['metadata'] ?? {}) as Partial<ObjectMeta>;
  if (uid !== undefined && uid !== old.metadata.uid) return wrongUid(request);
  if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
    return conflict('the object has been modified; please apply your changes to the latest version and try again');
  }
  const wanted = partOf(rules, place, old, bodyOn(stored, owners, write));
  const fresh = defaulted(place.kind, counted(rules, old, wanted));
  const problem = problemOf(place.kind, old, fresh);
  if (problem !== undefined) return refused(422, 'Invalid', problem);
  const [before, after] = [old, fresh].map((each) => fieldsOf(each as unknown as Json, rules.keyedLists));
  const isApply = request.patch?.kind === 'apply';
  const sets = isApply ? new Set(fieldsOf(request.body as Json, rules.keyedLists).keys()) : undefined;
  const author = { manager, ...(sets === undefined ? {} : { sets }) };
  const ownersNow = ownersAfter(
    owners,
    before ?? new Map<string, string>(),
    after ?? new Map<string, string>(),
    author,
  );
  if (isEnded(fresh)) return found(dryRun ? fresh : objects.remove(place.kind, fresh));
  const isSame = isDeepStrictEqual(withoutVersion(old), withoutVersion(fresh)) && sameOwners(owners, ownersNow);
  if (isSame || dryRun) return found(isSame ? old : fresh);
  return found(objects.put(place.kind, fresh, ownersNow));
}

/** Creates an object from a body; its status is left out where it has a subresource of its own. */
export function create(objects: Objects, write: Omit<Write, 'key'>, now: string): Answer {
  const { place, request, manager, dryRun } = write;
  const rules: KindRules = KIND_RULES[place.kind];
  const { status, ...body } = request.body as Json;
  const given = body['metadata'] as ObjectMeta;
  const metadata: ObjectMeta = withoutEmpty({
    ...given,
    ...(place.namespace === undefined ? {} : { namespace: place.namespace }),
    uid: objects.newUid(),
    creationTimestamp: now,
    ...(rules.hasGeneration ? { generation: 1 } : {}),
  });
  const keepsStatus = status !== undefined && isStatusKept(place.kind, rules);
  const fresh = defaulted(place.kind, { ...body, metadata, ...(keepsStatus ? { status } : {}) });
  const problem = problemOf(place.kind, undefined, fresh);
  if (problem !== undefined) return refused(422, 'Invalid', problem);
  if (dryRun) return found(fresh, 201);
  const fields = new Set(fieldsOf(fresh as unknown as Json, rules.keyedLists).keys());
  const sets = request.patch?.kind === 'apply' ? new Set(fieldsOf(body, rules.keyedLists).keys()) : fields;
  return found(objects.put(place.kind, fresh, new Map([[manager, sets]])), 201);
}

/** A kubelet creates its Node with a status. */
function isStatusKept(kind: ModelKind, rules: KindRules): boolean {
  return kind === 'Node' || !rules.hasStatus;
}

/** PUT and PATCH: some of them create the object where it is not there. */
export function writeObject(objects: Objects, write: Write, now: string): Answer {
  const { place, request, key } = write;
  const stored = objects.get(place.kind, key);
  if (stored !== undefined) return change(objects, stored, write);
  // A PUT creates a Lease too, as no other kind that is known here.
  const isUpsert = request.patch?.kind === 'apply' || (request.method === 'PUT' && place.kind === 'Lease');
  if (!isUpsert || place.subresource !== undefined) return notFound(`${place.kind} ${key}`);
  const { uid } = (request.body as { metadata: Partial<ObjectMeta> }).metadata;
  if (uid !== undefined) return conflict(`no object of the UID ${uid} was found`);
  return create(objects, write, now);
}
