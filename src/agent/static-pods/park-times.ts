import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';
import type { ParkStep } from '../../static-pods/journal/journal.ts';

/** When manifests were parked, so that a clock that is set makes it neither longer nor shorter ago. */
interface ParkTimes {
  /** The steps of the journal, by file, with their times as the clock is set now. */
  asOfNow(steps: ReadonlyMap<string, ParkStep>): ReadonlyMap<string, ParkStep>;
}

interface Seen {
  readonly step: ParkStep;
  readonly at: Moment;
}

/** Makes the memory. A step that this process sees first with a time to come counts as made just then. */
export function createParkTimes(clock: Clock): ParkTimes {
  let seen = new Map<string, Seen>();
  return {
    asOfNow: (steps) => {
      const now = momentOf(clock);
      seen = new Map(
        [...steps].map(([file, step]) => {
          const before = seen.get(file);
          return [file, before?.step.at === step.at ? before : { step, at: now }];
        }),
      );
      return new Map(
        [...steps].map(([file, step]) => {
          const at = seen.get(file)?.at ?? now;
          const ageMs = Math.max(0, at.wall - step.at);
          return [file, { ...step, at: asOfNow(at, now) - ageMs }];
        }),
      );
    },
  };
}
