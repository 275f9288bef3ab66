/** What histories find, of either world. */
import { signatureOf } from '../chaos/invariants/violation.ts';
import type { FleetFinding } from './fleet/judge.ts';
import type { Finding } from './judge.ts';

export type AnyFinding = Finding | FleetFinding;

/** Faults of the product that are known and not mended yet, by the words of what histories find of them. */
const KNOWN: ReadonlySet<string> = new Set([]);

/** Whether it is a fault of the product that is known. */
export function isKnown(finding: AnyFinding): boolean {
  return KNOWN.has(signatureOf(finding));
}
