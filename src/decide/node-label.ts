import type { ObjectMeta } from '../api/meta.ts';
import { NODE_LABEL } from '../api/names.ts';

const MAX_LABEL = 63;
const PREFIX = 46;

/** The hash FNV-1a of 64 bits, in 16 hexadecimal digits: it tells names apart, and vouches for nothing. */
function digest(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, '0');
}

/**
 * A node's name as the value of a label, which has 63 characters at most: the name, or its first 46 characters and a hash of
 * it. Whoever trusts a label looks for the whole name as well.
 */
export function nodeLabel(nodeName: string): string {
  return nodeName.length <= MAX_LABEL ? nodeName : `${nodeName.slice(0, PREFIX)}-${digest(nodeName)}`;
}

/** The whole name of a node as an annotation beside its label, where the label does not have it. */
export function nodeAnnotation(nodeName: string): Readonly<Record<string, string>> {
  return nodeLabel(nodeName) === nodeName ? {} : { [NODE_LABEL]: nodeName };
}

/** The node of the pod that an EvictionRequest is about, as the controller has labelled it; '' where it has not. */
export function requestNodeOf({ labels, annotations }: ObjectMeta): string {
  const label = labels?.[NODE_LABEL] ?? '';
  const whole = annotations?.[NODE_LABEL];
  return whole !== undefined && nodeLabel(whole) === label ? whole : label;
}
