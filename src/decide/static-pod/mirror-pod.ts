import type { EvictionRequest } from '../../api/eviction-request.ts';
import { MIRROR_ANNOTATION } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';

/** The kubelet's own UID of a static pod, a hash, which the container runtime has too. */
const HASH_ANNOTATION = 'kubernetes.io/config.hash';

/** The static pod's UID, from its mirror pod; undefined for a pod that is not a mirror pod. */
export function staticUidOf(mirror: Pod): string | undefined {
  const annotations = mirror.metadata.annotations ?? {};
  return annotations[MIRROR_ANNOTATION] === undefined
    ? undefined
    : (annotations[HASH_ANNOTATION] ?? annotations[MIRROR_ANNOTATION]);
}

/**
 * Which static pods leave now of those that the API server does not know, so that nobody asks them to leave: those of the lowest
 * priority, by their manifests, once none of a lower one is `ending` any more.
 */
export function firstToLeave<T extends { readonly priority: number }>(
  unknown: readonly T[],
  ending: readonly { readonly priority: number }[],
): readonly T[] {
  const first = Math.min(...[...unknown, ...ending].map(({ priority }) => priority));
  return unknown.filter(({ priority }) => priority === first);
}

/** Whether the target of a request is a static pod of this node. */
export type MirrorVerdict =
  /** It is; `priority` is the resolved priority of the mirror pod, if it has one. */
  | { readonly kind: 'ours'; readonly priority?: number }
  /** It is not; the agent does nothing. */
  | { readonly kind: 'not-ours'; readonly message: string };

/**
 * Compares the target of a request with the pod of that namespace and name (KEP-4563, "Interceptor", verify the target): it
 * must be a mirror pod of this node with that UID. If the manifest is parked here (`isParked`), the mirror pod may be gone
 * already, together with its containers.
 */
export function judgeTarget(
  request: EvictionRequest,
  mirror: Pod | undefined,
  { nodeName, isParked }: { readonly nodeName: string; readonly isParked: boolean },
): MirrorVerdict {
  const { name, uid } = request.spec.target.pod;
  const what = `${request.metadata.namespace ?? ''}/${name}`;
  if (mirror === undefined) {
    if (isParked) return { kind: 'ours' };
    return { kind: 'not-ours', message: `this node has no mirror pod ${what}` };
  }
  if (mirror.spec.nodeName !== nodeName) {
    return {
      kind: 'not-ours',
      message: `the pod ${what} is on the node ${mirror.spec.nodeName ?? ''}, not on ${nodeName}`,
    };
  }
  if (staticUidOf(mirror) === undefined) return { kind: 'not-ours', message: `the pod ${what} is no mirror pod` };
  if (mirror.metadata.uid !== uid) {
    const now = mirror.metadata.uid ?? '';
    return {
      kind: 'not-ours',
      message: `the request is for an earlier mirror pod ${what} (${uid}), which is now ${now}`,
    };
  }
  const { priority } = mirror.spec;
  return priority === undefined ? { kind: 'ours' } : { kind: 'ours', priority };
}
