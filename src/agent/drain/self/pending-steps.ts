import { setTimeout as delay } from 'node:timers/promises';
import type { Pod } from '../../../api/pod.ts';
import { NodemaintError } from '../../../errors.ts';
import { keyOf } from '../../../kube/resource.ts';
import { API_SERVER, type Waiting } from '../../../decide/node/waits.ts';

/** How long a pass waits for a step; the step itself goes on, because a webhook may need longer and say yes in the end. */
const STEP_MS = 2_000;
/** The same while others are under way: their webhooks may be those of this pod. */
const NEXT_STEP_MS = 200;

/** Steps that may take longer than a pass, one for each pod at a time. */
interface PendingSteps {
  /** Takes the step unless one is under way, and waits for it for some time. Throws API_UNREACHABLE. */
  take(
    pod: Pod,
    step: (signal: AbortSignal) => Promise<Waiting | undefined>,
    signal: AbortSignal,
  ): Promise<Waiting | undefined>;
  /** Ends those under way. */
  end(): void;
}

/** The steps end with `lifetime`. */
export function createPendingSteps(lifetime: AbortSignal): PendingSteps {
  const underWay = new Set<string>();
  let ending = new AbortController();
  return {
    take: async (pod, step, signal) => {
      const { uid = '' } = pod.metadata;
      const wait = (message: string): Waiting => ({ wait: 'api-server', what: keyOf(pod), on: API_SERVER, message });
      const late = wait('has no answer of the API server yet: a webhook may hold it up');
      if (underWay.has(uid)) return late;
      const waitMs = underWay.size === 0 ? STEP_MS : NEXT_STEP_MS;
      underWay.add(uid);
      const taken = step(AbortSignal.any([lifetime, ending.signal]))
        .catch((error: unknown) => {
          if (error instanceof NodemaintError && error.code === 'API_REFUSED') return wait(error.message);
          throw error;
        })
        .finally(() => underWay.delete(uid));
      const done = new AbortController();
      const timer = delay(waitMs, late, { signal: AbortSignal.any([signal, done.signal]) });
      try {
        return await Promise.race([taken, timer]);
      } finally {
        done.abort();
      }
    },
    end: () => {
      ending.abort();
      ending = new AbortController();
    },
  };
}
