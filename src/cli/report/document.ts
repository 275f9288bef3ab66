/** The report of a shutdown for programs: times in RFC 3339, spans of time in seconds. */
import { preciseRfc3339 } from '../../decide/time.ts';
import type { Timeline } from '../../show/story/timeline.ts';

function seconds(ms: number): number {
  return Math.round(ms) / 1000;
}

/** The content of the document ShutdownReport. */
export function reportDocument(line: Timeline): object {
  const { spent } = line;
  return {
    node: line.node,
    maintenance: line.maintenance,
    origin: line.origin,
    reason: line.reason,
    outcome: line.outcome,
    ...(line.why === undefined ? {} : { why: line.why }),
    began: preciseRfc3339(line.from),
    ended: preciseRfc3339(line.to),
    heldSeconds: seconds(spent.heldMs),
    addedSeconds: seconds(spent.addedMs),
    spentSeconds: {
      ending: seconds(spent.endingMs),
      interceptors: seconds(spent.interceptorMs),
      waiting: seconds(spent.waitingMs),
      between: seconds(spent.betweenMs),
    },
    ...(line.awayMs === undefined ? {} : { awaySeconds: seconds(line.awayMs) }),
    causes: line.causes.map(({ text, kind, pods, ms }) => ({ text, kind, pods, seconds: seconds(ms) })),
    ...(line.kubeletEnds === undefined ? {} : { kubeletEndedPods: line.kubeletEnds }),
    ...(line.budgetsNotAsked === undefined ? {} : { budgetsNotAsked: line.budgetsNotAsked }),
    pods: { total: line.pods, left: line.podsLeft, notRecorded: line.podsLeftOut },
    tiers: line.tiers.map(({ name, from, to, rows }) => ({
      name,
      began: preciseRfc3339(from),
      ended: preciseRfc3339(to),
      pods: rows.map((row) => ({
        pod: row.pod,
        asked: preciseRfc3339(row.from),
        ...(row.gone ? { gone: preciseRfc3339(row.to) } : {}),
        spans: row.spans.map((span) => ({
          from: preciseRfc3339(span.from),
          to: preciseRfc3339(span.to),
          kind: span.kind,
          text: span.text,
        })),
      })),
    })),
    moments: line.moments.map(({ at, text }) => ({ at: preciseRfc3339(at), text })),
  };
}
