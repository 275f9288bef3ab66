/**
 * The kubelet's own graceful shutdown. It reacts to the same signal as the agent and kills pods after its own grace periods,
 * in parallel to the drain (KEP-2000; kubelet.config.k8s.io/v1beta1, shutdownGracePeriod…).
 */
import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { planFromKubeletPriorities } from '../maintenance/drain-plan.ts';
import type { KubeletFacts } from './kubelet-config.ts';

/** The drop-in that disables it. The name sorts last, so that it overrides all others. */
export const KUBELET_DROP_IN = 'zz-nodemaint.conf';

/** The content of that drop-in. */
export const KUBELET_DROP_IN_TEXT = `# Written by node-maintenance-agent, which drains this node itself when the machine goes down.
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
shutdownGracePeriodByPodPriority: []
`;

export type KubeletShutdown =
  | { readonly kind: 'off' }
  | {
      readonly kind: 'on';
      /** Its longest possible duration, in milliseconds. */
      readonly totalMs: number;
      /** Its order as entries of a drain plan, to which the default entries of every plan are added. */
      readonly plan: readonly DrainPlanEntry[];
    };

/** Whether the kubelet would shut down pods by itself, and in which order. */
export function judgeKubeletShutdown(
  kubelet: Pick<KubeletFacts, 'shutdownGracePeriodMs' | 'shutdownGracePeriodByPodPriority'>,
): KubeletShutdown {
  const groups = kubelet.shutdownGracePeriodByPodPriority;
  const byPriorityMs = groups.reduce((sum, group) => sum + group.shutdownGracePeriodSeconds * 1000, 0);
  const totalMs = Math.max(kubelet.shutdownGracePeriodMs, byPriorityMs);
  if (totalMs === 0) return { kind: 'off' };
  return { kind: 'on', totalMs, plan: planFromKubeletPriorities(groups.map(({ priority }) => priority)) };
}

/** The warning for people if it is on; undefined if it is off. */
export function kubeletShutdownWarning(kubelet: Parameters<typeof judgeKubeletShutdown>[0]): string | undefined {
  const found = judgeKubeletShutdown(kubelet);
  if (found.kind === 'off') return undefined;
  return `the kubelet's own graceful shutdown is on (${found.totalMs / 1000} s): it kills pods in parallel to the drain; run "nodemaint disable-kubelet-shutdown"`;
}
