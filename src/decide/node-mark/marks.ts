/**
 * What tells other programs of the cluster that a node is under maintenance: labels and annotations of theirs, set only where
 * they are absent and taken back only where they are ours. The node has the names of those that are ours in an annotation.
 */
import { MARKED_ANNOTATION } from '../../api/names.ts';
import type { Node } from '../../api/pod.ts';

/** For whom a node may be marked. */
export type MarkName = 'load-balancers' | 'cluster-autoscaler' | 'karpenter';

/** Whether a mark is wanted on a node that is under maintenance, or only on one that is drained. */
type When = 'maintenance' | 'drain';

interface Mark {
  readonly kind: 'labels' | 'annotations';
  readonly key: string;
  readonly value: string;
  readonly when: When;
}

export const MARKS: Readonly<Record<MarkName, Mark>> = {
  // Load balancers of the cloud send no new connections to the node; a node that is only cordoned still serves.
  'load-balancers': {
    kind: 'labels',
    key: 'node.kubernetes.io/exclude-from-external-load-balancers',
    value: 'nodemaint',
    when: 'drain',
  },
  // An empty node is not taken away before its maintenance is complete.
  'cluster-autoscaler': {
    kind: 'annotations',
    key: 'cluster-autoscaler.kubernetes.io/scale-down-disabled',
    value: 'true',
    when: 'maintenance',
  },
  karpenter: { kind: 'annotations', key: 'karpenter.sh/do-not-disrupt', value: 'true', when: 'maintenance' },
};

export const MARK_NAMES = Object.keys(MARKS) as readonly MarkName[];

/** What a node is in the middle of. */
export interface MarkIntent {
  /** The marks that were opted for. */
  readonly enabled: readonly MarkName[];
  readonly isUnderMaintenance: boolean;
  readonly isDraining: boolean;
}

/** The labels and annotations of a merge patch; null takes one away. */
export interface MarkPatch {
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly annotations?: Readonly<Record<string, string | null>>;
}

/** The marks of the node that are ours, as it says itself. */
function oursOn({ metadata }: Node): ReadonlySet<MarkName> {
  const named = (metadata.annotations?.[MARKED_ANNOTATION] ?? '').split(',');
  return new Set(MARK_NAMES.filter((name) => named.includes(name)));
}

function isWanted(name: MarkName, { enabled, isUnderMaintenance, isDraining }: MarkIntent): boolean {
  return enabled.includes(name) && (MARKS[name].when === 'drain' ? isDraining : isUnderMaintenance);
}

/**
 * What to change on a node so that it has the marks that are wanted, and none of ours that are not; undefined where nothing
 * is. One that was there before is somebody else's and stays, and so does one of ours that has another value since.
 */
export function decideMarks(node: Node, intent: MarkIntent): MarkPatch | undefined {
  const known = oursOn(node);
  const ours = new Set<MarkName>();
  const patch: Record<Mark['kind'], Record<string, string | null>> = { labels: {}, annotations: {} };
  for (const name of MARK_NAMES) {
    const { kind, key, value } = MARKS[name];
    const present = node.metadata[kind]?.[key];
    const isOurs = known.has(name) && present === value;
    if (isWanted(name, intent)) {
      if (present === undefined) patch[kind][key] = value;
      if (present === undefined || isOurs) ours.add(name);
    } else if (isOurs) patch[kind][key] = null;
  }
  const before = node.metadata.annotations?.[MARKED_ANNOTATION];
  const after = ours.size === 0 ? undefined : [...ours].join();
  if (before !== after) patch.annotations[MARKED_ANNOTATION] = after ?? null;
  const { labels, annotations } = patch;
  const hasLabels = Object.keys(labels).length > 0;
  const hasAnnotations = Object.keys(annotations).length > 0;
  if (!hasLabels && !hasAnnotations) return undefined;
  return { ...(hasLabels ? { labels } : {}), ...(hasAnnotations ? { annotations } : {}) };
}

/** Whether the node has the marks that have to be there before its first pod leaves, whoever has set them. */
export function hasDrainMarks({ metadata }: Node, enabled: readonly MarkName[]): boolean {
  return enabled.every((name) => {
    const { kind, key, when } = MARKS[name];
    return when !== 'drain' || metadata[kind]?.[key] !== undefined;
  });
}
