import { describeError, errorCodeOf } from '../../errors.ts';
import type { BlockingPod } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { refusedBy } from '../../decide/interceptor/message.ts';
import { isInPodGroup } from '../../decide/pod.ts';
import { rfc3339 } from '../../decide/time.ts';
import type { Clock } from '../../host/clock.ts';

/** The CRD takes no longer message of a pod that blocks. */
const MAX_MESSAGE = 1024;

/** Why the last step of an object failed. */
interface Refusal {
  readonly message: string;
  /** Since when steps of the object have failed, in milliseconds since the epoch. */
  readonly sinceAt: number;
}

/** What a step may say beside its result: why the object stays as it is, although nothing went wrong. */
interface Refusable {
  readonly againMs?: number;
  readonly refused?: string;
}

/**
 * What the API server refuses, so that the status of a maintenance can name it: it stands on no object. The keys are the names of
 * nodes, which have no slash, and those of EvictionRequests, NAMESPACE/UID, also of pods that have none.
 */
export interface Refusals {
  /**
   * Runs a step of an object. An error is thrown on; it, or what the step says, is remembered until a step succeeds. A call
   * without an answer is no refusal: it may have been carried out, or will be when the API server can be reached again.
   */
  during(key: string, signal: AbortSignal, step: () => Promise<Refusable>): Promise<Refusable>;
  of(key: string): Refusal | undefined;
}

/** `onChange` is called with the key of an object that is refused for the first time or for another reason, or no longer. */
export function createRefusals(clock: Clock, onChange: (key: string) => void): Refusals {
  const refusals = new Map<string, Refusal>();
  const note = (key: string, text: string): void => {
    const known = refusals.get(key);
    const message = text.slice(0, MAX_MESSAGE);
    refusals.set(key, { message, sinceAt: known?.sinceAt ?? clock.now() });
    if (known?.message !== message) onChange(key);
  };
  return {
    during: async (key, signal, step) => {
      try {
        const result = await step();
        if (result.refused !== undefined) note(key, result.refused);
        else if (refusals.delete(key)) onChange(key);
        return result;
      } catch (error) {
        if (!signal.aborted && errorCodeOf(error) !== 'API_UNREACHABLE') note(key, describeError(error));
        throw error;
      }
    },
    of: (key) => refusals.get(key),
  };
}

/** A pod that cannot leave because its EvictionRequest is refused or, where it is of a group and has none, its eviction. */
export function refusedPod(pod: Pod, { message, sinceAt }: Refusal): BlockingPod {
  const { name, namespace = 'default' } = pod.metadata;
  const isGrouped = isInPodGroup(pod);
  const what = isGrouped ? 'it cannot be evicted' : 'its EvictionRequest cannot be written';
  const why = `${what}: ${message}`.slice(0, MAX_MESSAGE);
  const reason = isGrouped && refusedBy(message) === 'budget' ? 'PodDisruptionBudget' : 'EvictionRefused';
  return { namespace, name, reason, message: why, since: rfc3339(sinceAt) };
}
