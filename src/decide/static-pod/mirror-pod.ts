import type { EvictionRequest } from '../../api/eviction-request.ts';
import { MIRROR_ANNOTATION } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';

/** The hash under which the kubelet knows a static pod: its own UID of it, which the runtime has too. */
export const HASH_ANNOTATION = 'kubernetes.io/config.hash';

/** The static pod's UID as its mirror pod tells it; undefined for a pod that is no mirror. */
export function staticUidOf(mirror: Pod): string | undefined {
  const annotations = mirror.metadata.annotations ?? {};
  return annotations[MIRROR_ANNOTATION] === undefined
    ? undefined
    : (annotations[HASH_ANNOTATION] ?? annotations[MIRROR_ANNOTATION]);
}

/** Whether a request means a static pod of this node. */
export type MirrorVerdict =
  /** It does; `priority` is the resolved one of the mirror pod, where that has one. */
  | { readonly kind: 'ours'; readonly priority?: number }
  /** It does not; nothing is done about it. */
  | { readonly kind: 'not-ours'; readonly message: string };

/**
 * Checks the target of a request against the mirror pod of that namespace and name (KEP-4563, "Interceptor", verify the
 * target): it must be one, of this node, with that UID. `isParked` tells that its manifest is parked here: the
 * mirror pod of such a one goes away with its containers.
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
