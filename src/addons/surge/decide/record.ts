/** What a Deployment says of the pods that were added to it, so that nothing is lost when the interceptor is restarted. */
import type { Pod } from '../../../api/pod.ts';
import { isObject, parseObject } from '../../../decide/json.ts';
import { rfc3339, timeOf } from '../../../decide/time.ts';
import { DELETION_COST_ANNOTATION, type Deployment } from '../api/deployment.ts';
import { SURGE_ANNOTATION, SURGE_LABEL } from '../api/names.ts';

export interface SurgeRecord {
  /** The replicas of the Deployment without those that were added. */
  readonly replicas: number;
  /** By the UID of each pod for which another one was added: since when, in milliseconds since the epoch. */
  readonly pods: ReadonlyMap<string, number>;
}

/** The deletion cost of a pod for which another one has come; no other program is likely to write this number. */
export const REPLACED_COST = '-2147483600';

/** Whether the pod is the first one that its ReplicaSet deletes, because another pod has come for it. */
export function isReplaced({ metadata }: Pod): boolean {
  return metadata.annotations?.[DELETION_COST_ANNOTATION] === REPLACED_COST;
}

/**
 * The merge patch that makes the pod the first one which its ReplicaSet deletes, or takes that back; undefined where nothing is to
 * be changed: a pod that has a number of its own keeps it.
 */
export function deletionCostPatch(pod: Pod, isFirst: boolean): object | undefined {
  const { uid, annotations } = pod.metadata;
  if (isFirst ? annotations?.[DELETION_COST_ANNOTATION] !== undefined : !isReplaced(pod)) return undefined;
  return { metadata: { uid, annotations: { [DELETION_COST_ANNOTATION]: isFirst ? REPLACED_COST : null } } };
}

/** A record of more pods would be larger than an annotation may be, and is none of ours. */
const MAX_RECORD = 65_536;

/** The record in the annotation; undefined where there is none, or where the text is not one that this program writes. */
export function surgeRecordOf({ metadata }: Deployment): SurgeRecord | undefined {
  const text = metadata.annotations?.[SURGE_ANNOTATION];
  const { replicas, pods } = (text === undefined ? undefined : parseObject(text, MAX_RECORD)) ?? {};
  if (typeof replicas !== 'number' || !Number.isSafeInteger(replicas) || replicas < 1 || !isObject(pods))
    return undefined;
  const times = Object.entries(pods).map(
    ([uid, since]) => [uid, timeOf(typeof since === 'string' ? since : undefined) ?? 0] as const,
  );
  return times.length === 0 ? undefined : { replicas, pods: new Map(times) };
}

/** The replicas that the Deployment has with the record, where nobody else has scaled it. */
export function surgedReplicas({ replicas, pods }: SurgeRecord): number {
  return replicas + pods.size;
}

/** A change of a Deployment: a merge patch that the API server refuses where the Deployment has changed meanwhile. */
export interface SurgeChange {
  /** Undefined: nothing of ours is left. */
  readonly record: SurgeRecord | undefined;
  /** Undefined: they stay as they are. */
  readonly replicas?: number;
}

/** The merge patch of the change. */
export function surgePatch({ metadata }: Deployment, { record, replicas }: SurgeChange): object {
  const text =
    record &&
    JSON.stringify({
      replicas: record.replicas,
      pods: Object.fromEntries([...record.pods].map(([uid, since]) => [uid, rfc3339(since)])),
    });
  return {
    metadata: {
      resourceVersion: metadata.resourceVersion,
      labels: { [SURGE_LABEL]: text === undefined ? null : 'true' },
      annotations: { [SURGE_ANNOTATION]: text ?? null },
    },
    ...(replicas === undefined ? {} : { spec: { replicas } }),
  };
}

/** The change after which nothing is added for the pod any more; undefined where nothing was. */
export function withoutPod(deployment: Deployment, uid: string): SurgeChange | undefined {
  const record = surgeRecordOf(deployment);
  if (record?.pods.has(uid) !== true) return undefined;
  // Somebody else has scaled it: that number stays, and nothing is ours any more.
  if (deployment.spec.replicas !== surgedReplicas(record)) return { record: undefined };
  const pods = new Map([...record.pods].filter(([each]) => each !== uid));
  const left = { ...record, pods };
  return { record: pods.size === 0 ? undefined : left, replicas: surgedReplicas(left) };
}
