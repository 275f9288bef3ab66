import type { Pod } from '../../api/pod.ts';

/**
 * Reasons that a kubelet gives for a pod that a shutdown ended or kept out (kubernetes
 * pkg/kubelet/nodeshutdown/nodeshutdown_manager.go; "Shutdown" up to 1.22).
 */
const SHUTDOWN_REASONS = new Set(['Terminated', 'NodeShutdown', 'Shutdown']);

/** Whether it is what a shutdown left behind: failed, by the kubelet, because the node went down. */
export function isLeftOfShutdown({ status }: Pod): boolean {
  return status?.phase === 'Failed' && SHUTDOWN_REASONS.has(status.reason ?? '');
}
