import type { PhaseEvent } from '../../decide/shutdown/events.ts';
import { notifyUsers } from '../../host/wall.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { Log } from '../../telemetry/log.ts';

/** Who hears of news beside the log. */
export interface AnnouncerOptions {
  readonly nodeName: string;
  /** Absent without a cluster. */
  readonly events: EventRecorder | undefined;
  /** Whether this machine's users are told of what matters at a terminal. */
  readonly wall: boolean;
  readonly log: Log;
}

/** Makes what tells news to the log, as an Event of the Node, and to logged-in users until `signal` is aborted. */
export function createAnnouncer(
  { nodeName, events, wall, log }: AnnouncerOptions,
  signal: AbortSignal,
): (news: PhaseEvent) => void {
  // As kubelets name the Node in events: the name stands for the UID, which they do not know.
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName, uid: nodeName } };
  return (news) => {
    const level = news.type === 'Warning' ? 'error' : 'info';
    log[level]({ reason: news.reason }, news.message);
    events?.record(node, news);
    // It never rejects before the end, when nobody is there to hear it any more.
    if (news.wall && wall) notifyUsers(news.message, log, signal).catch(() => undefined);
  };
}
