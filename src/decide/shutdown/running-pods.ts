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

/** Why the machine goes down with them. */
export function leftRunning(names: readonly string[]): string {
  const forSec = LONGEST_RUNNING_MS / 1000;
  return `the API server had no pods here that were waited for, and for ${forSec} s these ran on in the container runtime: ${names.join(', ')}`;
}
