import type { EvictionRequest } from '../../api/eviction-request.ts';
import {
  DEADLINE_ANNOTATION,
  INTERCEPTOR_DEADLINE_ANNOTATION,
  MAINTENANCE_REQUESTER,
  MAINTENANCE_UID_LABEL,
  NODE_LABEL,
  OWN_LABEL_PREFIX,
} from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { nodeAnnotation, nodeLabel } from '../node-label.ts';
import { isRequestedBy } from './requester.ts';

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
function copiedLabels(pod: Pod): Labels {
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

/** The labels and annotations that a drain gives the request of a pod, of which `deadline` are those of a deadline. */
export function drainMetadata(
  pod: Pod,
  {
    known,
    by,
    deadline,
  }: { readonly known: EvictionRequest | undefined; readonly by: NodeMaintenance; readonly deadline: Labels },
): { readonly labels: Labels; readonly annotations: Labels } {
  // That of the maintenance that asked first.
  const asker = known?.metadata.labels?.[MAINTENANCE_UID_LABEL] ?? by.metadata.uid;
  return {
    labels: { ...copiedLabels(pod), ...(asker === undefined ? {} : { [MAINTENANCE_UID_LABEL]: asker }) },
    annotations: { ...deadline, ...nodeAnnotation(pod.spec.nodeName ?? '') },
  };
}

/** Whether the request says already what a drain has to say; the labels of its pod are kept by the loop over requests. */
export function isCurrent(known: EvictionRequest, annotations: Labels): boolean {
  const present = new Map(Object.entries(known.metadata.annotations ?? {}));
  // A deadline that is gone must not cut interceptors short: the apply without it takes its annotations away.
  const wanted = { [DEADLINE_ANNOTATION]: undefined, [INTERCEPTOR_DEADLINE_ANNOTATION]: undefined, ...annotations };
  const isSame = Object.entries(wanted).every(([name, text]) => present.get(name) === text);
  return isSame && isRequestedBy(known, MAINTENANCE_REQUESTER);
}
