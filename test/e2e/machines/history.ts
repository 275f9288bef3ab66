/** What happened to the pods and budgets of a cluster, told by watches and by the audit log of its API server. */
import type { Pod } from '../../../src/api/pod.ts';
import type { Write } from '../../chaos/audit.ts';
import type { Change } from '../../chaos/timeline.ts';

/** A pod with what the kubelet says of its containers. */
export interface WholePod extends Pod {
  readonly status?: Pod['status'] & {
    readonly containerStatuses?: readonly {
      readonly state?: { readonly terminated?: { readonly exitCode: number; readonly reason?: string } };
    }[];
  };
}

/** How a pod of a machine ended. */
export interface PodEnding {
  /** NAMESPACE/NAME. */
  readonly pod: string;
  readonly node: string;
  /** When it was told to end, in milliseconds since the epoch. */
  readonly toldAt: number;
  /** Who told it, as far as the audit log says. */
  readonly by: string;
  /** The grace period with which it was told, and its own. */
  readonly graceSec: number | undefined;
  readonly ownGraceSec: number | undefined;
  /** Whether its containers had ended before. */
  readonly hadEnded: boolean;
  /** Whether it was Ready before. The kubelet kills a container that is only being started. */
  readonly hadServed: boolean;
  readonly goneAt: number | undefined;
  /** The codes with which its containers ended, as the kubelet has told. */
  readonly exitCodes: readonly number[];
}

const CONTROLLER = 'system:serviceaccount:nodemaint-system:nodemaint-controller';

/** Who wrote, in few words. */
function writerOf({ user, program, resource, verb }: Write): string {
  const how = resource === 'pods/eviction' ? 'eviction' : verb;
  if (user === CONTROLLER) return `controller (${how})`;
  const node = /^system:node:(.*)$/.exec(user)?.[1];
  if (node !== undefined) return `${program === 'nodemaint-agent' ? 'agent' : 'kubelet'} of ${node} (${how})`;
  return `${user.replace(/^system:(?:serviceaccount:)?/, '')} (${how})`;
}

/** In the order in which the API server made them. */
export function inOrder(changes: readonly Change[]): readonly Change[] {
  return changes.toSorted((a, b) => a.revision - b.revision);
}

function exitCodesOf({ status }: WholePod): readonly number[] {
  return (status?.containerStatuses ?? []).flatMap(({ state }) => state?.terminated?.exitCode ?? []);
}

/** Each pod that was told to end or went, in the order in which that began. */
export function endingsOf(changes: readonly Change[], writes: readonly Write[]): readonly PodEnding[] {
  const endings = new Map<string, PodEnding>();
  const served = new Set<string>();
  const ends = writes.filter(
    ({ resource, verb }) => resource === 'pods/eviction' || (resource === 'pods' && verb === 'delete'),
  );
  for (const { kind, object, at, deleted, key } of inOrder(changes)) {
    if (kind !== 'Pod') continue;
    const pod = object as WholePod;
    const {
      uid = '',
      deletionTimestamp,
      deletionGracePeriodSeconds,
    } = pod.metadata as WholePod['metadata'] & { readonly deletionGracePeriodSeconds?: number };
    if (!deleted && isServing(pod)) served.add(uid);
    if ((deletionTimestamp === undefined && !deleted) || pod.spec.nodeName === undefined) continue;
    const known = endings.get(uid);
    const by = ends.findLast((write) => write.key === key && write.at <= at + 50);
    const first = {
      pod: key,
      node: pod.spec.nodeName,
      toldAt: at,
      by: by === undefined ? 'nobody known' : writerOf(by),
      graceSec: deletionGracePeriodSeconds,
      ownGraceSec: pod.spec.terminationGracePeriodSeconds,
      hadEnded: exitCodesOf(pod).length > 0,
      hadServed: served.has(uid),
      goneAt: undefined,
      exitCodes: [],
    };
    const exitCodes = exitCodesOf(pod);
    endings.set(uid, {
      ...(known ?? first),
      ...(exitCodes.length > 0 ? { exitCodes } : {}),
      ...(deleted ? { goneAt: at } : {}),
    });
  }
  return [...endings.values()];
}

/** How many pods of an application serve, from one time on until it changes. */
export interface Serving {
  readonly at: number;
  readonly ready: number;
}

/** Whether the pod is Ready, and was not told to end. */
export function isServing({ metadata, status }: WholePod): boolean {
  const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
  return isReady && metadata.deletionTimestamp === undefined;
}

/** How many pods with the label `app` serve, as the API server had it: a pod that was told to end counts no more. */
export function servingOf(app: string, changes: readonly Change[]): readonly Serving[] {
  const serving = new Set<string>();
  const steps: Serving[] = [];
  for (const { kind, object, at, deleted } of inOrder(changes)) {
    const { metadata } = object;
    if (kind !== 'Pod' || metadata.labels?.['app'] !== app) continue;
    if (!deleted && isServing(object as WholePod)) serving.add(metadata.uid ?? '');
    else serving.delete(metadata.uid ?? '');
    if (steps.at(-1)?.ready !== serving.size) steps.push({ at, ready: serving.size });
  }
  return steps;
}

/** How many served at a time. */
export function servingAt(steps: readonly Serving[], at: number): number {
  return steps.findLast((step) => step.at <= at)?.ready ?? 0;
}
