/**
 * What the agent of a node says of itself in an annotation of its own Node object, so that people see which nodes of a fleet
 * are guarded. It is written when it changes, and else once an hour.
 */
import { AGENT_STATUS_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { parseObject } from '../json.ts';
import { agentNodeOf, stageOf } from '../maintenance/maintenance.ts';
import { readyConditionOf } from '../pod.ts';
import { MOST_CARRIERS } from '../static-pod/control-plane-pod.ts';
import { timeOf } from '../time.ts';
import { SHUTDOWN_RESULTS, type ShutdownResult } from './last-shutdown.ts';
import type { Phase } from '../shutdown/phase.ts';

/** The worst result of the checks of `nodemaint doctor`; unknown before they have run. */
type DoctorResult = 'ok' | 'warn' | 'fail' | 'unknown';

/** The worst result of the checks, and the names of the checks that have it; none where all are well. */
export interface DoctorReport {
  readonly doctor: DoctorResult;
  readonly checks: readonly string[];
}

/** What an agent says. */
export interface Presence extends DoctorReport {
  readonly version: string;
  /**
   * The phase; `waiting` where the machine waits for its turn to reboot, and `stopped` where the agent has ended although the
   * machine does not go down.
   */
  readonly phase: Phase['kind'] | 'waiting' | 'stopped';
  /** Since when the phase has lasted, as far as this process of the agent knows, RFC 3339. */
  readonly phaseSince: string;
  readonly lock: 'held' | 'missing' | 'none';
  /** Since when the lock is held or missing, as far as this process of the agent knows, RFC 3339. */
  readonly lockSince: string;
  /** A hash of the configuration that the agent runs with, so that a node that differs is found; '' of an older agent. */
  readonly config: string;
  /** How the last shutdown ended, and when, RFC 3339; absent where none has, as far as the agent knows. */
  readonly last?: { readonly result: ShutdownResult; readonly at: string };
  /** Static pods, NAMESPACE/NAME, that carry the node's way to the API server; absent for none. */
  readonly carriers?: readonly string[];
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

const MAX_TEXT = 4_096;
const MAX_REASON = 256;
const MAX_WORD = 64;
const MAX_CHECKS = 8;
const MAX_CHECK = 32;
const MAX_POD = 317;
const PHASES: readonly Presence['phase'][] = ['watching', 'waiting', 'draining', 'released', 'recovering', 'stopped'];
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
  return JSON.stringify(a) === JSON.stringify(b);
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
  const checks = presence.checks.slice(0, MAX_CHECKS).map((name) => name.slice(0, MAX_CHECK));
  return JSON.stringify({
    ...presence,
    checks,
    reason,
    at,
    everySec: PRESENCE_EVERY_MS / 1000,
  } satisfies WrittenPresence);
}

function oneOf<T extends string>(words: readonly T[], value: unknown): T | undefined {
  return words.find((word) => word === value);
}

function word(value: unknown, max = MAX_WORD): string | undefined {
  return typeof value === 'string' && value.length <= max ? value : undefined;
}

/** Names; none of an older agent. */
function wordsOf(value: unknown, most: number, longest: number): readonly string[] {
  const names = Array.isArray(value) ? value : [];
  return names.slice(0, most).flatMap((name) => word(name, longest) ?? []);
}

function lastOf(value: unknown): Pick<Presence, 'last'> {
  if (typeof value !== 'object' || value === null) return {};
  const { result, at } = value as Readonly<Record<string, unknown>>;
  const [known, when] = [oneOf(SHUTDOWN_RESULTS, result), word(at)];
  return known === undefined || when === undefined ? {} : { last: { result: known, at: when } };
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
  const said = { version, phase, phaseSince, lock, lockSince, doctor, reason, at, everySec };
  const config = word(value['config']) ?? '';
  const carriers = wordsOf(value['carriers'], MOST_CARRIERS, MAX_POD);
  const checks = wordsOf(value['checks'], MAX_CHECKS, MAX_CHECK);
  return { ...said, checks, config, ...(carriers.length === 0 ? {} : { carriers }), ...lastOf(value['last']) };
}

/** The static pods, NAMESPACE/NAME, of which the agent of the node says that they carry its way to the API server. */
export function carriersOn(node: Node | undefined): readonly string[] {
  return readPresence(node?.metadata.annotations?.[AGENT_STATUS_ANNOTATION] ?? '')?.carriers ?? [];
}

/** An agent that is later than this with its report does not live, or does not reach the API server. */
const SLACK_MS = 15 * 60_000;

/** The age of the agent's report in milliseconds, where the next one is overdue; else undefined. */
export function overdueMs({ at, everySec }: WrittenPresence, now: number): number | undefined {
  const age = now - (timeOf(at) ?? 0);
  return age > everySec * 1000 + SLACK_MS ? age : undefined;
}

/**
 * Whether the machine of the node goes down, as its agent says, and no drain of the agent counts it: a person has completed or deleted
 * the maintenance of its shutdown, or the agent could not make one. What the agent said before the node was Ready anew is over.
 */
export function goesDownUncounted(node: Node, maintenances: readonly NodeMaintenance[], now: number): boolean {
  const { name, annotations } = node.metadata;
  const said = readPresence(annotations?.[AGENT_STATUS_ANNOTATION] ?? '');
  const readyAt = timeOf(readyConditionOf(node)?.lastTransitionTime ?? undefined) ?? -Infinity;
  if (said === undefined || overdueMs(said, now) !== undefined || (timeOf(said.at) ?? 0) < readyAt) return false;
  if (said.phase !== 'waiting' && said.phase !== 'draining' && said.phase !== 'released') return false;
  return !maintenances.some((each) => stageOf(each) === 'Drain' && agentNodeOf(each) === name);
}
