import type { Presence } from '../../../src/decide/presence/presence.ts';

/** What an agent says of itself at `at`, RFC 3339, where all is well, except for `more`. */
export function presenceAt(at: string, more: Partial<Presence> = {}): Presence {
  const ofLock = { lock: 'held', lockSince: at } as const;
  const ofChecks = { doctor: 'ok', checks: [], config: '', reason: '' } as const;
  return { version: '0.1.0', phase: 'watching', phaseSince: at, ...ofLock, ...ofChecks, ...more };
}
