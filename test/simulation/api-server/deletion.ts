/** How an object goes: finalizers, and the time that a pod has for its end (DeleteOptions). */
import type { KubeObject } from '../../../src/api/meta.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { rfc3339 } from '../../../src/decide/time.ts';
import type { ModelKind } from './kinds.ts';

/** The parts of DeleteOptions that this program sends. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: readonly string[];
}

/** What a deletion makes of an object: another one that is on its way out, nothing new, or nothing at all. */
type Deletion =
  | { readonly kind: 'marked'; readonly object: KubeObject }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'gone' };

const DEFAULT_GRACE_SEC = 30;

function graceSecOf(pod: Pod, { gracePeriodSeconds }: DeleteOptions): number {
  const { phase } = pod.status ?? {};
  if (pod.spec.nodeName === undefined || phase === 'Succeeded' || phase === 'Failed') return 0;
  return gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SEC;
}

function marked(object: KubeObject, graceSec: number, now: number): KubeObject {
  const { generation } = object.metadata;
  const counted = generation === undefined ? {} : { generation: generation + 1 };
  const end = { deletionTimestamp: rfc3339(now + graceSec * 1_000), deletionGracePeriodSeconds: graceSec };
  return { ...object, metadata: { ...object.metadata, ...counted, ...end } };
}

/** A deletion of an object that is on its way out already may only shorten its time. */
function deleteAgain(object: KubeObject, { gracePeriodSeconds }: DeleteOptions): Deletion {
  const { deletionTimestamp = '', deletionGracePeriodSeconds: before = 0 } = object.metadata;
  if (gracePeriodSeconds === undefined || gracePeriodSeconds >= before) return { kind: 'unchanged' };
  if (gracePeriodSeconds === 0 && (object.metadata.finalizers ?? []).length === 0) return { kind: 'gone' };
  const at = Date.parse(deletionTimestamp) + (gracePeriodSeconds - before) * 1_000;
  const end = { deletionTimestamp: rfc3339(at), deletionGracePeriodSeconds: gracePeriodSeconds };
  return { kind: 'marked', object: { ...object, metadata: { ...object.metadata, ...end } } };
}

/** What a deletion makes of an object; `now` is in milliseconds since the epoch. */
export function deletionOf(kind: ModelKind, object: KubeObject, options: DeleteOptions, now: number): Deletion {
  if (object.metadata.deletionTimestamp !== undefined) return deleteAgain(object, options);
  const graceSec = kind === 'Pod' ? graceSecOf(object as Pod, options) : 0;
  if (graceSec === 0 && (object.metadata.finalizers ?? []).length === 0) return { kind: 'gone' };
  return { kind: 'marked', object: marked(object, graceSec, now) };
}

/** Whether nothing keeps an object any more that was deleted: its last finalizer is gone, and its time is not awaited. */
export function isEnded(object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = object.metadata;
  if (deletionTimestamp === undefined || (object.metadata.finalizers ?? []).length > 0) return false;
  return deletionGracePeriodSeconds === 0;
}
