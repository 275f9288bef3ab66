/**
 * Delay locks of others. The agent's drop-in lets every lock delay a shutdown for a week, so once the agent has given its
 * own back, others get what logind would have let them have without that drop-in.
 */
import { type ConfigFile, OWN_DROP_IN, parseTimeSpan, winningDelay } from '../machine/logind-delay.ts';

/** A lock as logind lists it; `what` is a list with colons, `pid` the process that asked for it. */
export interface DelayLock {
  readonly what: string;
  readonly who: string;
  readonly why: string;
  readonly mode: string;
  readonly uid: number;
  readonly pid: number;
}

/** As whom the agent takes its lock. */
const LOCK_OWNER = 'nodemaint';
/** InhibitDelayMaxSec where no file sets it (logind.conf(5)). */
const DEFAULT_DELAY_MS = 5_000;

function isOfShutdown({ what }: DelayLock): boolean {
  return what.split(':').includes('shutdown');
}

function delaysShutdown(lock: DelayLock): boolean {
  return lock.mode === 'delay' && isOfShutdown(lock);
}

/** Whether logind refuses a shutdown because of the lock, root's too from systemd 257 on. Sessions may hold one from 262 on. */
export function refusesShutdown(lock: DelayLock): boolean {
  return lock.mode.startsWith('block') && isOfShutdown(lock);
}

/** Whether it is the agent's own lock. Anybody may call himself nodemaint, but not under the agent's user. */
export function isOwnLock(lock: DelayLock, ownUid: number | undefined): boolean {
  return delaysShutdown(lock) && lock.who === LOCK_OWNER && lock.uid === ownUid;
}

/** The locks that delay a shutdown beside the agent's own. */
export function otherLocks<T extends DelayLock>(locks: readonly T[], ownUid: number | undefined): readonly T[] {
  return locks.filter((lock) => delaysShutdown(lock) && !isOwnLock(lock, ownUid));
}

/** Whether it is the lock that the kubelet takes for its own graceful shutdown; while it has it, it ends pods. */
export function isKubeletsLock({ who, uid }: Pick<DelayLock, 'who' | 'uid'>): boolean {
  return who === 'kubelet' && uid === 0;
}

/** For how long others may delay a shutdown on their own, in milliseconds: as this machine has it without the agent. */
export function delayOfOthersMs(files: readonly ConfigFile[]): number {
  const winner = winningDelay(files.filter(({ path }) => !path.endsWith(`/${OWN_DROP_IN}`)));
  return winner === undefined ? DEFAULT_DELAY_MS : (parseTimeSpan(winner.value) ?? DEFAULT_DELAY_MS);
}

/** Whose lock it is, in words. */
export function describeLock({ who, uid, pid, why }: DelayLock): string {
  return `${who} (uid ${uid}, process ${pid}: ${why})`;
}
