/** Notices of Google Compute Engine by its metadata server. */
import * as z from 'zod';
import type { Notice } from '../decide/notice/notices.ts';
import { parseNoticeTime } from '../decide/notice/time.ts';
import { type Metadata, metadataError, parseJson, textOf } from './metadata.ts';
import type { NoticeSource } from './notice-source.ts';
import { timed } from './notice-times.ts';

const ROOT = '/computeMetadata/v1/instance';
const HEADERS = { 'Metadata-Flavor': 'Google' };
/** How long the server is asked to hold a question to which nothing has changed, and how much later it is given up. */
const HOLD_SEC = 300;
const HOLD_SLACK_MS = 30_000;
/** Between two held questions, so that a server that does not hold them is not asked without a pause. */
const HELD_EVERY_MS = 1_000;

const EVENTS: Readonly<Record<string, Omit<Notice, 'id' | 'provider'> | null>> = {
  NONE: null,
  MIGRATE_ON_HOST_MAINTENANCE: { kind: 'freeze', reason: 'GCE live migration' },
  TERMINATE_ON_HOST_MAINTENANCE: {
    kind: 'terminate',
    reason: 'GCE host maintenance: the machine is stopped',
    leastMs: 60_000,
  },
};
const shutdownSchema = z.object({
  stopState: z.string().max(100).optional(),
  requestTimestamp: z.string().max(100).optional(),
  maxDuration: z.unknown(),
});
const upcomingSchema = z.object({
  windowStartTime: z.string().max(100).optional(),
  maintenanceStatus: z.string().max(100).optional(),
  type: z.string().max(100).optional(),
});

/** A duration as Google writes it in JSON: 600, "600", "600s" or {"seconds": "600"}; in milliseconds. */
function durationMs(value: unknown): number | undefined {
  if (typeof value === 'object' && value !== null) return durationMs((value as { seconds?: unknown }).seconds);
  const seconds = /^(\d{1,6})s?$/.exec(String(value))?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** The places where Compute Engine announces the end of a machine. */
export function gcpSources(metadata: Metadata): readonly NoticeSource[] {
  const provider = 'gcp';

  /** A key that is always there: the server holds the question until the value changes. */
  const held = (key: string, parse: (text: string) => Omit<Notice, 'id' | 'provider'> | null): NoticeSource => {
    let etag: string | undefined;
    return {
      name: `${provider} ${key}`,
      everyMs: HELD_EVERY_MS,
      read: async (signal) => {
        const query =
          etag === undefined
            ? ''
            : `?wait_for_change=true&timeout_sec=${HOLD_SEC}&last_etag=${encodeURIComponent(etag)}`;
        const timeoutMs = etag === undefined ? undefined : HOLD_SEC * 1000 + HOLD_SLACK_MS;
        etag = undefined;
        const request = { path: `${ROOT}/${key}${query}`, headers: HEADERS };
        const answer = await metadata.send(timeoutMs === undefined ? request : { ...request, timeoutMs }, signal);
        const text = textOf(answer, key);
        if (text === undefined) throw metadataError(`${key}: HTTP 404 for a key that every machine has`);
        const found = parse(text);
        etag = answer.etag;
        return found === null ? [] : [{ id: `gcp/${key}/${text}`, provider, ...found }];
      },
    };
  };

  /** A directory that only some machines have, at some times: there is nothing that could be held. */
  const polled = (key: string, everyMs: number, parse: (text: string) => Notice | undefined): NoticeSource => ({
    name: `${provider} ${key}`,
    everyMs,
    read: async (signal) => {
      const text = textOf(
        await metadata.send({ path: `${ROOT}/${key}/?recursive=true`, headers: HEADERS }, signal),
        key,
      );
      const found = text === undefined || text === '' ? undefined : parse(text);
      return found === undefined ? [] : [found];
    },
  });

  const preempted = held('preempted', (text) => {
    if (text !== 'TRUE' && text !== 'FALSE') throw metadataError('preempted: neither TRUE nor FALSE');
    return text === 'TRUE' ? { kind: 'preempt', reason: 'GCE preemption', leastMs: 30_000 } : null;
  });
  const maintenance = held('maintenance-event', (text) => {
    const found = Object.hasOwn(EVENTS, text) ? EVENTS[text] : undefined;
    if (found === undefined) throw metadataError(`maintenance-event: not a value: ${text.slice(0, 60)}`);
    return found;
  });
  const shutdown = polled('shutdown-details', 10_000, (text) => {
    const details = parseJson(shutdownSchema, text, 'shutdown-details');
    if (details?.stopState !== 'PENDING_STOP') return undefined;
    const asked = details.requestTimestamp === undefined ? undefined : parseNoticeTime(details.requestTimestamp);
    const lasts = durationMs(details.maxDuration);
    const time = asked === undefined || lasts === undefined ? {} : { notBefore: asked + lasts };
    return { id: 'gcp/shutdown', kind: 'terminate', reason: 'GCE graceful shutdown', provider, ...time };
  });
  const upcoming = polled('upcoming-maintenance', 60_000, (text) => {
    const found = parseJson(upcomingSchema, text, 'upcoming-maintenance');
    if (found?.windowStartTime === undefined) return undefined;
    const reason = `GCE ${(found.type ?? 'upcoming').toLowerCase()} maintenance`;
    const id = `gcp/upcoming/${found.windowStartTime}`;
    const time = found.maintenanceStatus === 'ONGOING' ? {} : timed(found.windowStartTime);
    return { id, kind: 'reboot', reason, provider, ...time };
  });
  return [preempted, maintenance, shutdown, upcoming];
}
