import { STARTUP_TAINT } from '../../api/names.ts';
import type { Node, Taint } from '../../api/pod.ts';

/** Whether a node keeps pods away until its agent guards it. */
export function hasStartupTaint({ spec }: Pick<Node, 'spec'>): boolean {
  return spec?.taints?.some(({ key }) => key === STARTUP_TAINT) ?? false;
}

/** The other taints of a node, in their order. */
export function withoutStartupTaint({ spec }: Pick<Node, 'spec'>): readonly Taint[] {
  return (spec?.taints ?? []).filter(({ key }) => key !== STARTUP_TAINT);
}
