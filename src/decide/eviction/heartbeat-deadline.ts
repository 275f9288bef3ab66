/** When an interceptor has to give way: after 20 minutes without a sign of life, or by the deadline of its node. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import {
  DAEMON_SET_INTERCEPTOR,
  IMPERATIVE_INTERCEPTOR,
  INTERCEPTOR_DEADLINE_ANNOTATION,
  KUBELET_INTERCEPTOR,
} from '../../api/names.ts';
import { parseNoticeTime } from '../time.ts';

/** KEP-4563: after this time without a heartbeat the next interceptor becomes active, in milliseconds. */
export const HEARTBEAT_DEADLINE_MS = 20 * 60_000;

/** Built-in interceptors honour the deadline themselves; the request is not passed on from them. */
const ENDING: readonly string[] = [KUBELET_INTERCEPTOR, DAEMON_SET_INTERCEPTOR, IMPERATIVE_INTERCEPTOR];

/** Until when others than this program may try to make the pod leave, in milliseconds since the epoch; undefined without end. */
export function othersDeadline({ metadata }: EvictionRequest): number | undefined {
  return parseNoticeTime(metadata.annotations?.[INTERCEPTOR_DEADLINE_ANNOTATION] ?? '');
}

/** When an interceptor has to give way, and why. */
interface GiveWay {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly why: 'silent' | 'deadline';
}

/** When the interceptor `name`, heard of last at `heardAt` (milliseconds since the epoch), gives way unless it completes. */
export function giveWayAt(request: EvictionRequest, name: string, heardAt: number): GiveWay {
  const silent = heardAt + HEARTBEAT_DEADLINE_MS;
  const deadline = ENDING.includes(name) ? undefined : othersDeadline(request);
  return deadline !== undefined && deadline < silent
    ? { at: deadline, why: 'deadline' }
    : { at: silent, why: 'silent' };
}
