/** Static pods that the kubelet has from its `staticPodURL`: there is no file that could be moved to make them leave. */
import { SOURCE_ANNOTATION } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import type { KubeletFacts } from '../machine/kubelet-config.ts';
import { podTypeOf } from '../pod.ts';

/** Why such a pod does not leave, and what a person can do. */
export const URL_POD_STAYS =
  'the kubelet has it from its staticPodURL: no manifest can be moved away, so it stays, and no drain waits for it';

/** What static pods stay when a drain is over, because nobody has a manifest of them that could be moved; their names follow. */
export const URL_PODS_LEFT =
  'only static pods without a manifest on this node are left, as from a staticPodURL of the kubelet';

/** Whether the pod is the mirror of a static pod that the kubelet has from its `staticPodURL`. */
export function isFromUrl(pod: Pod): boolean {
  return podTypeOf(pod) === 'Static' && pod.metadata.annotations?.[SOURCE_ANNOTATION] === 'http';
}

/** The warning for a kubelet with a `staticPodURL`; undefined for any other. The URL, which may have a password, is not in it. */
export function staticPodUrlWarning({
  pid,
  hasStaticPodUrl,
}: Pick<KubeletFacts, 'pid' | 'hasStaticPodUrl'>): string | undefined {
  if (!hasStaticPodUrl) return undefined;
  return `the kubelet (process ${pid}) takes static pods from a URL (staticPodURL): no manifest of theirs can be moved away, so they stay when a node is drained, and a machine goes down with them`;
}
