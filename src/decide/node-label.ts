import type { ObjectMeta } from '../api/meta.ts';
import { NODE_LABEL } from '../api/names.ts';

const MAX_LABEL = 63;
const PREFIX = 46;

/** The 64-bit hash FNV-1a in 16 hexadecimal digits: it distinguishes names, and is not a cryptographic proof. */
function digest(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, '0');
}

/**
 * A node's name as the value of a label, which has at most 63 characters: the name, or its first 46 characters and a hash of
 * it. Code that relies on a label must compare the full name as well.
 */
export function nodeLabel(nodeName: string): string {
  return nodeName.length <= MAX_LABEL ? nodeName : `${nodeName.slice(0, PREFIX)}-${digest(nodeName)}`;
}

/** The annotation with the full name of a node, which is set beside the label; empty if the label has the full name. */
export function nodeAnnotation(nodeName: string): Readonly<Record<string, string>> {
  return nodeLabel(nodeName) === nodeName ? {} : { [NODE_LABEL]: nodeName };
}

/** The node of the target pod of an EvictionRequest, from the controller's label; '' if there is no label. */
export function requestNodeOf({ labels, annotations }: ObjectMeta): string {
  const label = labels?.[NODE_LABEL] ?? '';
  const whole = annotations?.[NODE_LABEL];
  return whole !== undefined && nodeLabel(whole) === label ? whole : label;
}
