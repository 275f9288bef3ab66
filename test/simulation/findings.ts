/** What histories find, of either world. */
import { signatureOf } from '../chaos/invariants/violation.ts';
import type { FleetFinding } from './fleet/judge.ts';
import type { Finding } from './judge.ts';

export type AnyFinding = Finding | FleetFinding;

/** Faults of the product that are known and not mended yet, by the words of what histories find of them. */
const KNOWN: ReadonlySet<string> = new Set([
  'told: a machine goes down (offline) with a pod that was not told to end',
  'told: a machine goes down (offline) with a pod that had not its grace period',
  'told: a machine goes down (offline) with a pod that is not named as left',
  'told: a machine goes down (cluster) with a pod that was not told to end',
  'told: a machine goes down (cluster) with a pod that had not its grace period',
  'told: a machine goes down (cluster) with a pod that is not named as left',
  'owned: a machine is held and nobody owns that',
  'budgets: a pod is deleted in spite of its budget while another node stays',
  'budgets: an agent ends a pod alone in spite of its budget while another node stays',
  'kept: a node is made schedulable whose drain has begun',
  'quorum: a member goes although that takes the quorum',
  'complete: a machine is recorded as drained (offline) while pods run',
  'complete: a machine is recorded as drained (cluster) while pods run',
  'complete: a maintenance is Drained while pods of it run',
]);

/** Whether it is a fault of the product that is known. */
export function isKnown(finding: AnyFinding): boolean {
  return KNOWN.has(signatureOf(finding));
}
