/** The responders of a pod, in the order in which the API server has them. */
import {
  IMPERATIVE_PRIORITY,
  IMPERATIVE_RESPONDER,
  MAX_RESPONDERS,
  STATIC_POD_RESPONDER_END,
  type TargetResponder,
} from '../../api/lifecycle.ts';
import type { Pod } from '../../api/pod.ts';
import { podTypeOf } from '../pod.ts';
import { staticPodResponder } from './names.ts';

/** A name of a responder or requester: a domain, one slash, and a key. */
const NAME =
  /^(?=[^/]{1,253}\/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/;
const MIN_PRIORITY = 1_000;
const MAX_PRIORITY = 100_000;

/** Whether the API takes this as the name of a responder or requester. */
export function isParticipantName(name: string): boolean {
  return NAME.test(name);
}

/** Domains are compared label by label from the top-level one down; one that another one begins with comes first. */
function compareDomains(a: string, b: string): number {
  const [left, right] = [a.split('.').toReversed(), b.split('.').toReversed()];
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const [mine = '', other = ''] = [left[index], right[index]];
    if (mine !== other) return mine < other ? -1 : 1;
  }
  return left.length - right.length;
}

/** The order in which they become active: by falling priority, then by domain, then by key (as SortTargetResponders of the API server). */
export function compareResponders(
  a: Pick<TargetResponder, 'name' | 'priority'>,
  b: Pick<TargetResponder, 'name' | 'priority'>,
): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  const [domain = '', key = ''] = a.name.split('/');
  const [otherDomain = '', otherKey = ''] = b.name.split('/');
  const order = compareDomains(domain, otherDomain);
  if (order !== 0) return order;
  return key === otherKey ? 0 : key < otherKey ? -1 : 1;
}

/**
 * Whether the agent of another node is named, or an agent for a pod that is not static. The author of a pod may name anybody;
 * an agent works on the static pods of its own node alone, and an identity that was stolen would report for ever.
 */
function isForeignAgent(name: string, pod: Pod): boolean {
  if (!name.endsWith(STATIC_POD_RESPONDER_END)) return false;
  return podTypeOf(pod) !== 'Static' || name !== staticPodResponder(pod.spec.nodeName ?? '');
}

/**
 * The responders of a pod in the order in which they become active: those of its spec, and the Eviction API last. Mirror and DaemonSet pods
 * are not given to the Eviction API: the first ones do not end by it, the others come back at once.
 */
export function respondersOf(pod: Pod): readonly Pick<TargetResponder, 'name' | 'priority'>[] {
  const found = new Map<string, number>();
  for (const { name, priority } of pod.spec.evictionResponders ?? []) {
    const isPriority = Number.isInteger(priority) && priority >= MIN_PRIORITY && priority <= MAX_PRIORITY;
    if (!isPriority || !isParticipantName(name) || isForeignAgent(name, pod)) continue;
    if (!found.has(name)) found.set(name, priority);
  }
  const own = [...found].slice(0, MAX_RESPONDERS - 1).map(([name, priority]) => ({ name, priority }));
  const last = podTypeOf(pod) === 'Default' ? [{ name: IMPERATIVE_RESPONDER, priority: IMPERATIVE_PRIORITY }] : [];
  return [...own.toSorted(compareResponders), ...last];
}
