/**
 * What the agent of a node says of itself in an annotation of its own Node object, so that people see which nodes of a fleet
 * are guarded. It is written when it changes, and else once an hour.
 */
import { parseObject } from '../../decide/json.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';

/** The worst result of the checks of `nodemaint doctor`; unknown before they have run. */
export type DoctorResult = 'ok' | 'warn' | 'fail' | 'unknown';

/** What an agent says. */
export interface Presence {
  readonly version: string;
  /** The phase, or `stopped` where the agent has ended although the machine does not go down. */
  readonly phase: Phase['kind'] | 'stopped';
  /** Since when the phase has lasted, as far as this process of the agent knows, RFC 3339. */
  readonly phaseSince: string;
  readonly lock: 'held' | 'missing' | 'none';
  /** Since when the lock is held or missing, as far as this process of the agent knows, RFC 3339. */
  readonly lockSince: string;
  readonly doctor: DoctorResult;
  /** Why the node goes down, or why the lock is missing; '' where there is nothing to say. */
  readonly reason: string;
}

/** A presence as it was written. */
export interface WrittenPresence extends Presence {
  /** When it was written, RFC 3339. */
  readonly at: string;
  /** After how many seconds the agent writes again at the latest. */
  readonly everySec: number;
}

/** An agent writes at least so often. */
export const PRESENCE_EVERY_MS = 60 * 60_000;
/** After a write the next one waits for so long, whatever changes. */
const PAUSE_MS = 10_000;
/** A write that failed is tried again after so long. */
const RETRY_MS = 60_000;
/** The agents of a fleet that started together write at different times: up to so much earlier. */
const SPREAD_MS = 5 * 60_000;

const MAX_TEXT = 2_048;
const MAX_REASON = 256;
const MAX_WORD = 64;
const PHASES: readonly Presence['phase'][] = ['watching', 'draining', 'released', 'recovering', 'stopped'];
const LOCKS: readonly Presence['lock'][] = ['held', 'missing', 'none'];
const RESULTS: readonly DoctorResult[] = ['ok', 'warn', 'fail', 'unknown'];

/** The last attempt to write; times are monotonic, in milliseconds. */
export interface PresenceWrite {
  /** What was written, or was tried to be. */
  readonly presence: Presence;
  readonly at: number;
  readonly succeeded: boolean;
}

function isSame(a: Presence, b: Presence): boolean {
  return (Object.keys(a) as (keyof Presence)[]).every((key) => a[key] === b[key]);
}

/** How much earlier than an hour the agent of this node writes, in milliseconds: always the same for one name. */
export function presenceSpreadMs(nodeName: string): number {
  let sum = 0;
  for (const letter of nodeName) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003;
  return (sum * 7_919) % SPREAD_MS;
}

/** After how many milliseconds the presence is to be written; 0 for at once. `now` is monotonic. */
export function presenceDueMs(
  last: PresenceWrite | undefined,
  presence: Presence,
  nodeName: string,
  now: number,
): number {
  if (last === undefined) return 0;
  const everyMs = PRESENCE_EVERY_MS - presenceSpreadMs(nodeName);
  const pauseMs = !last.succeeded ? RETRY_MS : isSame(last.presence, presence) ? everyMs : PAUSE_MS;
  return Math.max(0, last.at + pauseMs - now);
}

/** The text of the annotation; `at` is RFC 3339. */
export function presenceText(presence: Presence, at: string): string {
  const reason = presence.reason.slice(0, MAX_REASON);
  return JSON.stringify({ ...presence, reason, at, everySec: PRESENCE_EVERY_MS / 1000 } satisfies WrittenPresence);
}

function oneOf<T extends string>(words: readonly T[], value: unknown): T | undefined {
  return words.find((word) => word === value);
}

function word(value: unknown, max = MAX_WORD): string | undefined {
  return typeof value === 'string' && value.length <= max ? value : undefined;
}

/** Reads the annotation; undefined for a text that no agent writes. */
export function readPresence(text: string): WrittenPresence | undefined {
  const value = parseObject(text, MAX_TEXT);
  if (value === undefined) return undefined;
  const { everySec } = value;
  const version = word(value['version']);
  const phase = oneOf(PHASES, value['phase']);
  const phaseSince = word(value['phaseSince']);
  const lock = oneOf(LOCKS, value['lock']);
  const lockSince = word(value['lockSince']);
  const doctor = oneOf(RESULTS, value['doctor']);
  const reason = word(value['reason'], MAX_REASON);
  const at = word(value['at']);
  if (version === undefined || phase === undefined || lock === undefined || doctor === undefined) return undefined;
  if (phaseSince === undefined || lockSince === undefined || reason === undefined || at === undefined) return undefined;
  if (typeof everySec !== 'number' || !(everySec >= 1 && everySec <= 86_400)) return undefined;
  return { version, phase, phaseSince, lock, lockSince, doctor, reason, at, everySec };
}
