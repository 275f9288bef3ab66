import type { Phase } from '../../decide/shutdown/phase.ts';
import type { Clock } from '../../host/clock.ts';

/** Notes when this process first asked the API server for the NodeMaintenance of a shutdown. */
export interface FirstQuestion {
  /** Called before each question. */
  note(phase: Phase): void;
  /** In milliseconds since the boot; undefined where it has not asked for this shutdown. */
  askedAt(phase: Phase): number | undefined;
}

/** Knows of one shutdown at a time. */
export function createFirstQuestion(clock: Pick<Clock, 'monotonic'>): FirstQuestion {
  let asked: { readonly shutdown: number; readonly at: number } | undefined;
  return {
    note: (phase) => {
      if (phase.kind !== 'draining' || phase.mode !== 'cluster' || asked?.shutdown === phase.since) return;
      asked = { shutdown: phase.since, at: clock.monotonic() };
    },
    askedAt: (phase) => (phase.kind !== 'watching' && asked?.shutdown === phase.since ? asked.at : undefined),
  };
}
