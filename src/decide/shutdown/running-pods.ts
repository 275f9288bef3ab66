/** Pods whose containers run on a machine although the API server says that none is left to wait for. */
import { SOURCE_ANNOTATION } from '../../api/names.ts';
import type { LiveSandbox } from './runtime-pods.ts';

/** A machine waits so long for them: nobody is known to end them, and the kubelet ends within it what it was told to. */
export const LONGEST_RUNNING_MS = 120_000;

/** A pod as the container runtime has it. */
export interface RunningSandbox extends Pick<LiveSandbox, 'namespace' | 'podName' | 'annotations'> {
  readonly runningContainers: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Where the kubelet has a pod from: the API server, or a file in its static pod directory. */
export type PodSource = 'api' | 'file';

/**
 * The pods of these sources, as NAMESPACE/NAME, that run containers and were there before the shutdown began. A pod that came
 * later is judged by the API server alone.
 */
export function runningPods(
  sandboxes: readonly RunningSandbox[],
  sources: readonly PodSource[],
  shutdownSince: number,
): readonly string[] {
  const names = sandboxes
    .filter(({ annotations }) => sources.some((source) => source === annotations[SOURCE_ANNOTATION]))
    .filter(({ runningContainers, createdAt }) => runningContainers > 0 && createdAt < shutdownSince)
    .map(({ namespace, podName }) => `${namespace}/${podName}`);
  return [...new Set(names)].toSorted();
}

/** Why a drain goes on without the cluster whose NodeMaintenance somebody has completed, and for how long. */
export function goesOnAlone(maintenance: string): string {
  const forSec = LONGEST_RUNNING_MS / 1000;
  return `somebody has completed the NodeMaintenance ${maintenance}, so the agent goes on without the cluster for ${forSec} s at most`;
}

/** Why the machine goes down although pods run after that. `running` is undefined where the container runtime does not tell. */
export function leftAlone(maintenance: string, running: readonly string[] | undefined): string {
  const ended = `somebody has completed the NodeMaintenance ${maintenance}, which ends the drain`;
  const names = running === undefined ? 'not known' : running.length === 0 ? 'none that is known' : running.join(', ');
  return `${ended}; the agent went on for ${LONGEST_RUNNING_MS / 1000} s at most, and the pods that still ran are: ${names}`;
}

/** Why the machine goes down where the container runtime does not tell what runs after that. */
export function leftUnknown(maintenance: string, reason: string): string {
  return `somebody has completed the NodeMaintenance ${maintenance}, which ends the drain, and the container runtime does not tell what runs (${reason})`;
}

/** Why the machine goes down with them. */
export function leftRunning(names: readonly string[]): string {
  const forSec = LONGEST_RUNNING_MS / 1000;
  return `the API server had no pods here that were waited for, and for ${forSec} s these ran on in the container runtime: ${names.join(', ')}`;
}
