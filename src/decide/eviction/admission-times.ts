import type { EvictionRequest, InterceptorStatus } from '../../api/eviction-request.ts';
import { CLOCK_SKEW_MS, trustedEntry } from './trusted-times.ts';
import { isFinished, lastHeard } from './request.ts';
import { giveWayAt } from './heartbeat-deadline.ts';
import { rfc3339 } from '../time.ts';

/** Whether a write of a request's status is in keeping with the present time; the message says why not. */
export type TimesDecision = { readonly kind: 'allowed' } | { readonly kind: 'refused'; readonly message: string };

type TimeField = 'startTime' | 'heartbeatTime' | 'expectedFinishTime' | 'completionTime';

/** In which direction a time may not be away from the present (KEP-4563, InterceptorStatus). */
const BOUNDS: Readonly<Record<TimeField, { readonly future: boolean; readonly past: boolean }>> = {
  startTime: { future: false, past: false },
  // The KEP forbids the future alone. One that is late says less than the interceptor could have said, and harms nobody.
  heartbeatTime: { future: false, past: true },
  expectedFinishTime: { future: true, past: false },
  completionTime: { future: false, past: false },
};
const FIELDS = Object.keys(BOUNDS) as readonly TimeField[];
const SKEW = `${CLOCK_SKEW_MS / 1000} s`;

function entryOf(request: EvictionRequest, name: string): InterceptorStatus | undefined {
  return request.status?.interceptors?.find((entry) => entry.name === name);
}

/** What is wrong with one time that was newly set; undefined where nothing is. */
function complaint(field: TimeField, value: string, now: number): string | undefined {
  const time = Date.parse(value);
  if (Number.isNaN(time)) return 'which cannot be read as a time';
  const { future, past } = BOUNDS[field];
  if (!future && time > now + CLOCK_SKEW_MS) {
    return `which is ${Math.ceil((time - now) / 1000)} s in the future: more than the ${SKEW} allowed for time skew`;
  }
  // metav1.Time has whole seconds, rounded down: the present time is the present second.
  const second = Math.floor(now / 1000) * 1000;
  if (!past && time < second - CLOCK_SKEW_MS) {
    return `which is ${Math.ceil((now - time) / 1000)} s in the past: more than the ${SKEW} allowed for time skew`;
  }
  return undefined;
}

function judgeEntry(old: InterceptorStatus | undefined, fresh: InterceptorStatus, now: number): string[] {
  return FIELDS.flatMap((field) => {
    const value = fresh[field];
    if (value === undefined || value === old?.[field]) return [];
    // The same moment, written in another time zone or with another precision, is nothing new.
    if (old?.[field] !== undefined && Date.parse(value) === Date.parse(old[field])) return [];
    const why = complaint(field, value, now);
    return why === undefined ? [] : [`status.interceptors[${fresh.name}].${field} was set to ${value}, ${why}`];
  });
}

/** Why control may not pass on from one interceptor yet; undefined where it may. */
function judgeAdvance(old: EvictionRequest, name: string, now: number): string | undefined {
  // What is stored counts: a write that completes an interceptor and passes on at once is not that interceptor's.
  const entry = entryOf(old, name);
  // The skew is in the controller's favour: its clock may be ahead by this much.
  const latest = now + CLOCK_SKEW_MS;
  if (entry !== undefined && trustedEntry(entry, latest).completionTime !== undefined) return undefined;
  const heard = lastHeard(old, entry === undefined ? undefined : trustedEntry(entry, now), -Infinity);
  const giveWay = giveWayAt(old, name, heard);
  // Where no time at all is known, nothing can be held against the controller.
  if (!(latest < giveWay.at)) return undefined;
  const who = `status.activeInterceptors was advanced past ${name}, which has no completionTime`;
  if (giveWay.why === 'deadline') return `${who} and time until ${rfc3339(giveWay.at)}, by the deadline of its node`;
  return (
    `${who} and whose heartbeat deadline is ` +
    `${rfc3339(giveWay.at)}, 20 minutes after it was activated or last gave a sign of life at ${rfc3339(heard)}`
  );
}

/**
 * Judges what a write of a request's status does by the clock (KEP-4563, InterceptorStatus and "EvictionRequest
 * Validation on Admission, UPDATE"): newly set times of interceptors lie where they may, with 10 s of skew, and no
 * interceptor is passed over that has neither completed, nor been silent for 20 minutes, nor run out of time before the deadline of its node, unless the
 * request is over.
 * `old` is the stored object, `now` is in milliseconds since the epoch. Times that stay as they are are not judged again.
 */
export function decideTimes(old: EvictionRequest, fresh: EvictionRequest, now: number): TimesDecision {
  const complaints = (fresh.status?.interceptors ?? []).flatMap((entry) =>
    judgeEntry(entryOf(old, entry.name), entry, now),
  );
  if (!isFinished(fresh)) {
    const active = fresh.status?.activeInterceptors ?? [];
    for (const name of old.status?.activeInterceptors ?? []) {
      const why = active.includes(name) ? undefined : judgeAdvance(old, name, now);
      if (why !== undefined) complaints.push(why);
    }
  }
  if (complaints.length === 0) return { kind: 'allowed' };
  const { namespace, name } = fresh.metadata;
  const object = `EvictionRequest ${namespace === undefined ? '' : `${namespace}/`}${name}`;
  return { kind: 'refused', message: `${object}: ${complaints.join('; ')}; it is now ${rfc3339(now)}` };
}
