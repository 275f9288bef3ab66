import type { PhaseEvent } from '../../decide/shutdown/events.ts';
import { notifyUsers } from '../../host/wall.ts';
import type { EventRecorder } from '../../kube/event/recorder.ts';
import type { Log } from '../../telemetry/log.ts';
import type { AgentMetrics } from '../metrics/serve.ts';

/** Where events of the phases are announced, in addition to the log. */
interface AnnouncerOptions {
  readonly nodeName: string;
  /** Absent without a cluster. */
  readonly events: EventRecorder | undefined;
  /** Whether events that concern logged-in users are written to their terminals. */
  readonly wall: boolean;
  readonly log: Log;
  /** Counts the events; absent where nobody reads that. */
  readonly metrics?: Pick<AgentMetrics, 'announced'>;
}

/** Announces an event of a phase in the log, as an Event of the Node, and to logged-in users until `signal` is aborted. */
export function createAnnouncer(
  { nodeName, events, wall, log, metrics }: AnnouncerOptions,
  signal: AbortSignal,
): (event: PhaseEvent) => void {
  // As kubelets name the Node in events: the name stands for the UID, which they do not know.
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName, uid: nodeName } };
  return (event) => {
    const level = event.type === 'Warning' ? 'error' : 'info';
    log[level]({ reason: event.reason }, event.message);
    events?.record(node, event);
    metrics?.announced(event.reason);
    // It rejects only when `signal` is aborted: at the end of the agent.
    if (event.wall && wall) notifyUsers(event.message, log, signal).catch(() => undefined);
  };
}
