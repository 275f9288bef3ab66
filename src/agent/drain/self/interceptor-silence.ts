import type { EvictionRequest } from '../../../api/eviction-request.ts';
import { HEARTBEAT_DEADLINE_MS } from '../../../decide/eviction/heartbeat-deadline.ts';
import type { Pod } from '../../../api/pod.ts';
import { interceptorEntry } from '../../../decide/eviction/heartbeat.ts';
import { asOfNow, type Clock, type Moment, momentOf } from '../../../host/clock.ts';

/** For how long the interceptors of pods have given no sign of life, as this agent has seen; the time begins when a pod is looked at. */
export class InterceptorSilence {
  readonly #clock: Clock;
  readonly #seen = new Map<string, { readonly sign: string; readonly at: Moment }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Until when the pod's interceptor may be silent, in milliseconds since the epoch. As with a controller that is 20 minutes;
   * there is nobody to ask the next one.
   */
  until({ metadata: { uid = '' } }: Pod, request: EvictionRequest | undefined): number {
    const now = momentOf(this.#clock);
    const active = request?.status?.activeInterceptors?.[0] ?? '';
    const sign = JSON.stringify([active, request && interceptorEntry(request, active)]);
    const known = this.#seen.get(uid);
    const at = known?.sign === sign ? known.at : now;
    this.#seen.set(uid, { sign, at });
    return asOfNow(at, now) + HEARTBEAT_DEADLINE_MS;
  }

  forget(): void {
    this.#seen.clear();
  }
}
