/**
 * The note that the controller keeps on a Node for the node's agent: what the maintenances of others do there. With it an
 * agent needs no watch on all NodeMaintenances, each of whose statuses would reach every node of the cluster.
 */
import { DEADLINE_ANNOTATION, DEADLINE_SINCE_ANNOTATION } from '../../api/names.ts';
import type { LabelSelector } from '../../api/meta.ts';
import type { DrainPlanEntry, NodeMaintenance } from '../../api/node-maintenance.ts';
import { type NodeIdentity, recordedNode } from './recorded-node.ts';
import { isObject, parseObject } from '../json.ts';
import { agentNodeOf, isInProgress, stageOf } from './maintenance.ts';

/** A longer note is not written: a few maintenances with plain plans need less than a tenth. */
const MAX_NOTE = 16_384;
const TOO_LARGE = '{"tooLarge":true}';

/** The parts of a reason that an agent reports. */
const MAX_REASON = 256;
const MAX_NAME = 253;

/** A maintenance in a note. */
interface Noted {
  readonly name: string;
  readonly uid?: string;
  readonly stage: 'Cordon' | 'Drain';
  readonly reason?: string;
  /** Its deadline, and since when that is known, RFC 3339. */
  readonly deadline?: readonly [string, string];
  /** Those of its targets that an agent acts by: for static pods. Absent in the stage Cordon. */
  readonly drainTargets?: readonly DrainPlanEntry[];
}

/** What a note says of the maintenances of a node. */
type NodeNote =
  | { readonly kind: 'known'; readonly maintenances: readonly NodeMaintenance[] }
  /** They are too many for a note, or it cannot be read. */
  | { readonly kind: 'unknown' };

/** The part of the reason that notes have; absent where the maintenance gives none. */
export function notedReason({ spec: { reason } }: Pick<NodeMaintenance, 'spec'>): string | undefined {
  return reason?.slice(0, MAX_REASON);
}

function notedOf(maintenance: NodeMaintenance, node: NodeIdentity): Noted {
  const { metadata, status } = maintenance;
  const { name, uid, annotations = {} } = metadata;
  const { [DEADLINE_ANNOTATION]: at, [DEADLINE_SINCE_ANNOTATION]: since = '' } = annotations;
  const stage = stageOf(maintenance) === 'Drain' ? 'Drain' : 'Cordon';
  const reason = notedReason(maintenance);
  const targets = stage === 'Drain' ? (recordedNode(status, node)?.drainTargets ?? []) : undefined;
  return {
    name,
    ...(uid === undefined ? {} : { uid }),
    stage,
    ...(reason === undefined ? {} : { reason }),
    ...(at === undefined ? {} : { deadline: [at, since] }),
    ...(targets === undefined ? {} : { drainTargets: targets.filter(({ podType }) => podType === 'Static') }),
  };
}

/**
 * The note for a node that these maintenances select; undefined where its agent needs none. Those that the agent made itself
 * are not in it: it finds them by their label.
 */
export function nodeNote(maintenances: readonly NodeMaintenance[], node: NodeIdentity): string | undefined {
  const others = maintenances.filter((each) => isInProgress(each) && agentNodeOf(each) !== node.name);
  if (others.length === 0) return undefined;
  const sorted = others.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const text = JSON.stringify({ maintenances: sorted.map((each) => notedOf(each, node)) });
  return text.length > MAX_NOTE ? TOO_LARGE : text;
}

function isText(value: unknown, max: number): value is string {
  return typeof value === 'string' && value.length <= max;
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => isText(each, MAX_NOTE));
}

function isSelector(value: unknown): value is LabelSelector {
  if (!isObject(value)) return false;
  const { matchLabels = {}, matchExpressions = [] } = value;
  const isExpression = (each: unknown): boolean =>
    isObject(each) &&
    isText(each['key'], MAX_NOTE) &&
    isText(each['operator'], MAX_NOTE) &&
    (each['values'] === undefined || isTextList(each['values']));
  return (
    isObject(matchLabels) &&
    isTextList(Object.values(matchLabels)) &&
    Array.isArray(matchExpressions) &&
    matchExpressions.every(isExpression)
  );
}

function isTarget(value: unknown): value is DrainPlanEntry {
  if (!isObject(value) || value['podType'] !== 'Static' || !Number.isSafeInteger(value['podPriority'])) return false;
  return value['podSelector'] === undefined || isSelector(value['podSelector']);
}

function isNoted(value: unknown): value is Noted {
  if (!isObject(value)) return false;
  const { name, uid, stage, reason, deadline, drainTargets } = value;
  return (
    isText(name, MAX_NAME) &&
    (uid === undefined || isText(uid, MAX_NAME)) &&
    (stage === 'Cordon' || stage === 'Drain') &&
    (reason === undefined || isText(reason, MAX_REASON)) &&
    (deadline === undefined || (isTextList(deadline) && Array.isArray(deadline) && deadline.length === 2)) &&
    (drainTargets === undefined || (Array.isArray(drainTargets) && drainTargets.every(isTarget)))
  );
}

/** A maintenance as an agent keeps it that does not watch it: without its plan, and of its status this node alone. */
function maintenanceOf({ name, uid, stage, reason, deadline, drainTargets }: Noted, nodeName: string): NodeMaintenance {
  const [at = '', since = ''] = deadline ?? [];
  const annotations = { [DEADLINE_ANNOTATION]: at, [DEADLINE_SINCE_ANNOTATION]: since };
  const nodeStatus = { nodeRef: { name: nodeName }, ...(drainTargets === undefined ? {} : { drainTargets }) };
  return {
    metadata: { name, ...(uid === undefined ? {} : { uid }), ...(deadline === undefined ? {} : { annotations }) },
    spec: { nodeSelector: { nodeSelectorTerms: [] }, stage, ...(reason === undefined ? {} : { reason }) },
    status: { nodeStatuses: [nodeStatus] },
  };
}

/** Reads the note of the node `nodeName`; undefined stands for a Node without a note, which no maintenance of others has. */
export function readNodeNote(text: string | undefined, nodeName: string): NodeNote {
  if (text === undefined) return { kind: 'known', maintenances: [] };
  const noted = parseObject(text, MAX_NOTE)?.['maintenances'];
  if (!Array.isArray(noted) || !noted.every(isNoted)) return { kind: 'unknown' };
  return { kind: 'known', maintenances: noted.map((each) => maintenanceOf(each, nodeName)) };
}

/** Where an agent has the maintenances of its node from: all NodeMaintenances, or its own ones and the note. */
export type MaintenanceSource = 'all' | 'note';

/**
 * Where an agent is to have the maintenances from, with what it has now; undefined before it has any. Without a controller
 * that writes notes it watches all. That no change of the Lease was seen yet changes nothing.
 */
export function decideSource(
  now: MaintenanceSource | undefined,
  controller: { readonly writesNotes: boolean; readonly life: 'alive' | 'dead' | 'unknown' },
): MaintenanceSource {
  if (!controller.writesNotes || controller.life === 'dead') return 'all';
  return controller.life === 'alive' ? 'note' : (now ?? 'note');
}
