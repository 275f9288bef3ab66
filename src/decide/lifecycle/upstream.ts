/** For so long after a write of Kubernetes' own controller its part is left to it, in milliseconds. */
const STAND_BACK_MS = 30 * 60_000;

/**
 * For how many milliseconds this program leaves the Evictions to Kubernetes' own controller, which wrote one of them last at
 * `wroteAt`; 0 where it acts itself. Both in milliseconds since the epoch.
 */
export function standBackMs(wroteAt: number | undefined, now: number): number {
  return wroteAt === undefined ? 0 : Math.max(0, Math.min(wroteAt, now) + STAND_BACK_MS - now);
}
