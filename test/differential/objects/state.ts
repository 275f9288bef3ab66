/** The state of a part of a cluster without what differs from play to play: names, UIDs, revisions and times. */
import type { KubeObject } from '../../../src/api/meta.ts';
import type { ClusterPart } from '../../chaos/world.ts';

/** What the API server itself sets, or what only tells when something was. */
const TRANSIENT = new Set([
  ...'uid resourceVersion creationTimestamp generation managedFields observedGeneration deletionTimestamp'.split(' '),
  ...'startTimestamp lastTransitionTime lastHeartbeatTime expectedFinishTime since startTime heartbeatTime'.split(' '),
  ...'completionTime deletionGracePeriodSeconds'.split(' '),
]);
/** Times in texts. */
const TIMES = /\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})|\b\d{2}:\d{2}:\d{2}\b/g;

function plain(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === 'string') return replace(value).replaceAll(TIMES, 'TIME');
  if (Array.isArray(value)) return value.map((each) => plain(each, replace));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !TRANSIENT.has(key));
  return Object.fromEntries(
    kept.map(([key, inner]) => [replace(key), plain(inner, replace)] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** UIDs become the names of their objects, and the beginning of all names goes. */
function replacer({ id, changes }: Pick<ClusterPart, 'id' | 'changes'>): (text: string) => string {
  const uids = new Map(
    changes.map(({ kind, object: { metadata } }) => [metadata.uid ?? '', `UID of ${kind} ${metadata.name}`]),
  );
  uids.delete('');
  const known = [...uids];
  const beginning = new RegExp(`(?<![\\w-])${id}(?![\\w])`, 'g');
  return (text) => {
    let replaced = text;
    for (const [uid, name] of known) if (replaced.includes(uid)) replaced = replaced.replaceAll(uid, name);
    return replaced.replaceAll(beginning, 'ID');
  };
}

/** Stages of the past are no part of where a maintenance is: one that was Idle before is drained like another. */
function withoutPast(object: KubeObject): KubeObject {
  const { status } = object as KubeObject & { readonly status?: { readonly stageStatuses?: readonly object[] } };
  if (status?.stageStatuses === undefined) return object;
  return { ...object, status: { ...status, stageStatuses: status.stageStatuses.slice(-1) } } as KubeObject;
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

/**
 * A condition that is False says the same of a node as one that was never set. MaintenancePlanned stays True until the maintenance is
 * over (docs/reference/node-maintenance.md), so it only tells how a drain began.
 */
function withoutFormer(object: KubeObject): KubeObject {
  const { status } = object as KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } };
  if (status?.conditions === undefined) return object;
  const isTrue = status.conditions.filter((condition) => condition.status !== 'False');
  const isInProgress = isTrue.some(({ type }) => type === 'MaintenanceInProgress');
  const conditions = isTrue.filter(({ type }) => !isInProgress || type !== 'MaintenancePlanned');
  return { ...object, status: { ...status, conditions } } as KubeObject;
}

/** The objects of the part by kind and name, as JSON has them. */
export function stateOf(part: ClusterPart): Readonly<Record<string, unknown>> {
  const replace = replacer(part);
  const kinds = {
    Node: part.nodes().map(withoutFormer),
    Pod: part.pods(),
    NodeMaintenance: part.maintenances().map(withoutPast),
    EvictionRequest: part.requests(),
  };
  const named = Object.entries(kinds).flatMap(([kind, objects]) =>
    (objects as readonly KubeObject[]).map(
      (object) => [`${kind} ${replace(object.metadata.name)}`, plain(object, replace)] as const,
    ),
  );
  return Object.fromEntries(named.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
