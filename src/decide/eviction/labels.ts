import type { EvictionRequest } from '../../api/eviction-request.ts';
import { NODE_LABEL, OWN_LABEL_PREFIX } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { nodeAnnotation, nodeLabel } from '../node-label.ts';

type Labels = Readonly<Record<string, string>>;

/** What the labels of a request have to be, and whether they are. */
interface LabelDecision {
  /** The labels of the target, and the node that it runs on. */
  readonly wanted: Labels;
  /** The whole name of that node, where it is longer than a label may be. */
  readonly annotations: Labels;
  /** Whether a wanted label or annotation is missing or differs. */
  readonly differs: boolean;
  /** Whether there are others that are not ours: a user's own, or ones that the target no longer has. */
  readonly hasOthers: boolean;
}

/**
 * The labels that an EvictionRequest takes over from its target, for the selectors of interceptors (KEP-4563, "Label
 * Synchronization": the target's labels win). Ours are left out: a pod's label must not make it another node's.
 */
export function copiedLabels(pod: Pod): Labels {
  const ofPod = Object.entries(pod.metadata.labels ?? {}).filter(([key]) => !key.startsWith(OWN_LABEL_PREFIX));
  const node = pod.spec.nodeName ?? '';
  return { ...Object.fromEntries(ofPod), ...(node === '' ? {} : { [NODE_LABEL]: nodeLabel(node) }) };
}

/** What the labels of a request have to be (KEP-4563, "Label Synchronization"), and whether they are. */
export function decideLabels(request: EvictionRequest, pod: Pod): LabelDecision {
  const wanted = copiedLabels(pod);
  const annotations = nodeAnnotation(pod.spec.nodeName ?? '');
  const { labels: present = {}, annotations: known = {} } = request.metadata;
  return {
    wanted,
    annotations,
    differs:
      Object.entries(wanted).some(([key, value]) => present[key] !== value) ||
      Object.entries(annotations).some(([key, value]) => known[key] !== value),
    hasOthers: Object.keys(present).some((key) => !Object.hasOwn(wanted, key) && !key.startsWith(OWN_LABEL_PREFIX)),
  };
}
