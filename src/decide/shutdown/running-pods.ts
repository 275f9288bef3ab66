/** The pods of a machine as its container runtime shows them. */
import type { PodType } from '../../api/node-maintenance.ts';
import { boundedGraceSec, DEFAULT_GRACE_SEC, type DrainPod } from '../pod.ts';
import { SEEN_ANNOTATION, SOURCE_ANNOTATION } from '../../api/names.ts';
import { timeOf } from '../time.ts';

/** A sandbox with life in it. */
export interface LiveSandbox {
  readonly id: string;
  readonly namespace: string;
  readonly podName: string;
  readonly podUid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly graceSec?: number;
}

/** What the API server once said of a pod, and the runtime does not know. */
export type KnownPod = Pick<DrainPod, 'podType' | 'priority' | 'order'>;

/** A pod that runs on the node, and how it is stopped. */
export interface RuntimePod extends DrainPod {
  readonly sandboxIds: readonly string[];
  /** In seconds. */
  readonly graceSec: number;
}

/**
 * The DaemonSet controller writes it (apps/v1, DeprecatedTemplateGeneration). Anybody may write it on a pod of his own, and
 * the runtime knows nothing better: such a pod, where the API server never told of it, leaves with the DaemonSets' pods.
 */
const DAEMON_SET_LABEL = 'pod-template-generation';

/** Whether the kubelet has the pod from a manifest and not from the API server. */
export function isFromManifest({ annotations }: Pick<LiveSandbox, 'annotations'>): boolean {
  const source = annotations[SOURCE_ANNOTATION];
  return source === 'file' || source === 'http';
}

function podTypeOf(sandbox: LiveSandbox): PodType {
  if (isFromManifest(sandbox)) return 'Static';
  return sandbox.labels[DAEMON_SET_LABEL] === undefined ? 'Default' : 'DaemonSet';
}

/**
 * The pods behind the sandboxes. What the API server said of a pod goes first; of one that it never told the type is read
 * from what the kubelet and the DaemonSet controller wrote on it, and its priority is taken for 0, so that it leaves early.
 */
export function runtimePodsOf(
  sandboxes: readonly LiveSandbox[],
  known: ReadonlyMap<string, KnownPod>,
): readonly RuntimePod[] {
  return [...Map.groupBy(sandboxes, ({ podUid }) => podUid)].flatMap(([uid, all]) => {
    const [sandbox] = all;
    if (sandbox === undefined) return [];
    const { namespace, podName: name, labels } = sandbox;
    const told = known.get(uid);
    const podType = isFromManifest(sandbox) ? 'Static' : (told?.podType ?? podTypeOf(sandbox));
    const graceSec = boundedGraceSec(all.find((each) => each.graceSec !== undefined)?.graceSec ?? DEFAULT_GRACE_SEC);
    const sandboxIds = all.map(({ id }) => id);
    const order = told?.order === undefined ? {} : { order: told.order };
    return [{ namespace, name, uid, podType, priority: told?.priority ?? 0, ...order, labels, sandboxIds, graceSec }];
  });
}

/** A machine waits so long for pods of which the API server has none: nobody is known to end them, and the kubelet ends within it what it was told to. */
export const LONGEST_RUNNING_MS = 120_000;

/** A pod as the container runtime has it. */
export interface RunningSandbox extends Pick<LiveSandbox, 'namespace' | 'podName' | 'annotations'> {
  readonly runningContainers: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Where the kubelet has a pod from: the API server, or a file in its static pod directory. */
export type PodSource = 'api' | 'file';

/** When the pod was there first: a restart of the runtime may have made its sandbox anew. */
function thereSince({ annotations, createdAt }: RunningSandbox): number {
  return Math.min(createdAt, timeOf(annotations[SEEN_ANNOTATION]) ?? createdAt);
}

/**
 * The pods of these sources, as NAMESPACE/NAME, that run containers and were there before the machine began to go down. A pod that came
 * later is judged by the API server alone.
 */
export function runningPods(
  sandboxes: readonly RunningSandbox[],
  sources: readonly PodSource[],
  downSince: number,
): readonly string[] {
  const names = sandboxes
    .filter(({ annotations }) => sources.some((source) => source === annotations[SOURCE_ANNOTATION]))
    .filter((sandbox) => sandbox.runningContainers > 0 && thereSince(sandbox) < downSince)
    .map(({ namespace, podName }) => `${namespace}/${podName}`);
  return [...new Set(names)].toSorted();
}

/** Why the machine goes down with them. */
export function leftRunning(names: readonly string[]): string {
  const forSec = LONGEST_RUNNING_MS / 1000;
  return `the API server had no pods here that were waited for, and for ${forSec} s these ran on in the container runtime: ${names.join(', ')}`;
}
