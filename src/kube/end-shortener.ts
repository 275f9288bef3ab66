import type { Pod } from '../api/pod.ts';
import { decideShorterEnd } from '../decide/maintenance-deadline.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { KubeClient } from './client.ts';
import { deletePod, type EndOptions } from './evictor.ts';
import { keyOf } from './watch.ts';

/** Shortens the end of pods that are terminating already, and remembers what it has ordered. */
export interface EndShortener {
  /** Deletes the pod again where it would end later than `options` allow. Throws API_UNREACHABLE and API_REFUSED. */
  shorten(pod: Pod, options: EndOptions, signal: AbortSignal): Promise<void>;
}

export interface EndShortenerDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
}

/** A pod that has not gone so long after its end is not ended by another order either. */
const FORGET_MS = 60_000;

/** Makes the shortener. */
export function createEndShortener({ client, clock, log }: EndShortenerDependencies): EndShortener {
  /** When pods end by our orders, by UID: their deletionTimestamp counts from the first order, the kubelet from the last. */
  const endings = new Map<string, number>();
  return {
    shorten: async (pod, options, signal) => {
      const { uid = '' } = pod.metadata;
      const now = clock.now();
      const graceSec = decideShorterEnd(pod, options.gracePeriodSeconds, endings.get(uid), now);
      if (graceSec === undefined) return;
      for (const [known, endsAt] of endings) if (endsAt + FORGET_MS < now) endings.delete(known);
      await deletePod(client, pod, { gracePeriodSeconds: graceSec }, signal);
      endings.set(uid, now + graceSec * 1000);
      log.info({ pod: keyOf(pod), graceSec }, 'shortened the end of a terminating pod for the deadline');
    },
  };
}
