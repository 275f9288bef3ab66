/** What histories find, of either world. */
import { signatureOf } from '../chaos/invariants/violation.ts';
import type { FleetFinding } from './fleet/judge.ts';
import type { Finding } from './judge.ts';

export type AnyFinding = Finding | FleetFinding;

/** Faults of the product that are known and not mended yet, by the words of what histories find of them. */
const KNOWN: ReadonlySet<string> = new Set([
  // An agent that is restarted while the API server is away does not know that its maintenance was taken, and waits 15 s.
  'told: a machine goes down (offline) with a pod that was not told to end, its agent restarted meanwhile',
  'told: a machine goes down (offline) with a pod that had not its grace period, its agent restarted meanwhile',
  'budgets: an agent ends a pod alone in spite of its budget while another node stays, restarted meanwhile',
]);

/** Whether it is a fault of the product that is known. */
export function isKnown(finding: AnyFinding): boolean {
  return KNOWN.has(signatureOf(finding));
}
