/**
 * The kubelet's own graceful shutdown, which reacts to the same signal as the agent and kills pods by its own clock, beside
 * the drain (KEP-2000; kubelet.config.k8s.io/v1beta1, shutdownGracePeriod…).
 */
import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { planFromKubeletPriorities } from '../drain/plan.ts';
import type { KubeletFacts } from './kubelet-config.ts';

/** The name of the drop-in that switches it off; it sorts last. */
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
      /** How long it would take at most, in milliseconds. */
      readonly totalMs: number;
      /** Its order as entries of a drain plan; the default entries of every plan complete it. */
      readonly plan: readonly DrainPlanEntry[];
    };

/** Whether the kubelet would shut pods down by itself, and in which order. */
export function judgeKubeletShutdown(
  kubelet: Pick<KubeletFacts, 'shutdownGracePeriodMs' | 'shutdownGracePeriodByPodPriority'>,
): KubeletShutdown {
  const groups = kubelet.shutdownGracePeriodByPodPriority;
  const byPriorityMs = groups.reduce((sum, group) => sum + group.shutdownGracePeriodSeconds * 1000, 0);
  const totalMs = Math.max(kubelet.shutdownGracePeriodMs, byPriorityMs);
  if (totalMs === 0) return { kind: 'off' };
  return { kind: 'on', totalMs, plan: planFromKubeletPriorities(groups.map(({ priority }) => priority)) };
}

/** What to say to people where it is on; '' where it is off. */
export function kubeletShutdownWarning(kubelet: Parameters<typeof judgeKubeletShutdown>[0]): string {
  const found = judgeKubeletShutdown(kubelet);
  if (found.kind === 'off') return '';
  return `the kubelet's own graceful shutdown is on (${found.totalMs / 1000} s): it kills pods beside the drain; run "nodemaint disable-kubelet-shutdown"`;
}
