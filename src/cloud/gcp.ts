/** Notices from the metadata server of Google Compute Engine. */
import * as z from 'zod';
import { type Metadata, metadataError, parseJson, textOf } from './metadata.ts';
import { type NoticeSource, timed } from './notice-source.ts';
import { parseNoticeTime } from '../decide/time.ts';
import type { Notice } from '../decide/notice/notices.ts';

const ROOT = '/computeMetadata/v1/instance';
const HEADERS = { 'Metadata-Flavor': 'Google' };
const PROVIDER = 'gcp';
/** The server is asked to delay its answer this long while the value does not change. */
const LONG_POLL_SEC = 300;
/** A delayed answer that takes longer than this has failed. */
const WAIT_MS = LONG_POLL_SEC * 1000 + 30_000;
/** The pause between two delayed requests, for a server that answers at once instead. */
const LONG_POLL_EVERY_MS = 1_000;

const EVENTS: ReadonlyMap<string, Omit<Notice, 'id' | 'provider'> | null> = new Map(
  Object.entries({
    NONE: null,
    // It stands still for some seconds.
    MIGRATE_ON_HOST_MAINTENANCE: null,
    TERMINATE_ON_HOST_MAINTENANCE: {
      kind: 'terminate',
      reason: 'GCE host maintenance: the machine is stopped',
      leastMs: 60_000,
    },
  }),
);
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

/** Parses a duration in Google's JSON forms: 600, "600", "600s" or {"seconds": "600"}; in milliseconds. */
function durationMs(value: unknown): number | undefined {
  if (typeof value === 'object' && value !== null) return durationMs((value as { seconds?: unknown }).seconds);
  const seconds = /^(\d{1,6})s?$/.exec(String(value))?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

type Finding = Omit<Notice, 'id' | 'provider'>;

/** A key that every machine has: the server delays the answer until the value changes. */
function longPollSource(metadata: Metadata, key: string, parse: (text: string) => Finding | null): NoticeSource {
  let etag: string | undefined;
  return {
    name: `${PROVIDER} ${key}`,
    everyMs: LONG_POLL_EVERY_MS,
    waitsForChange: true,
    read: async (signal) => {
      const plain = { path: `${ROOT}/${key}`, headers: HEADERS };
      const request = etag === undefined ? plain : { ...plain, path: plain.path + waitQuery(etag), timeoutMs: WAIT_MS };
      etag = undefined;
      const answer = await metadata.send(request, signal);
      const text = textOf(answer, key);
      if (text === undefined) throw metadataError(`${key}: HTTP 404 for a key that every machine has`);
      const found = parse(text);
      etag = answer.etag;
      return found === null ? [] : [{ id: `gcp/${key}/${text}`, provider: PROVIDER, ...found }];
    },
  };
}

function waitQuery(etag: string): string {
  return `?wait_for_change=true&timeout_sec=${LONG_POLL_SEC}&last_etag=${encodeURIComponent(etag)}`;
}

/** A directory that exists only on some machines and at some times, so that the server cannot wait for its change. */
function polledSource(
  metadata: Metadata,
  { key, everyMs }: { readonly key: string; readonly everyMs: number },
  parse: (text: string) => Notice | undefined,
): NoticeSource {
  return {
    name: `${PROVIDER} ${key}`,
    everyMs,
    read: async (signal) => {
      const request = { path: `${ROOT}/${key}/?recursive=true`, headers: HEADERS };
      const text = textOf(await metadata.send(request, signal), key);
      const found = text === undefined || text === '' ? undefined : parse(text);
      return found === undefined ? [] : [found];
    },
  };
}

/** The sources from which Compute Engine announces the end of a machine. */
export function gcpSources(metadata: Metadata): readonly NoticeSource[] {
  const preempted = longPollSource(metadata, 'preempted', (text) => {
    if (text !== 'TRUE' && text !== 'FALSE') throw metadataError('preempted: neither TRUE nor FALSE');
    return text === 'TRUE' ? { kind: 'preempt', reason: 'GCE preemption', leastMs: 30_000 } : null;
  });
  const maintenance = longPollSource(metadata, 'maintenance-event', (text) => {
    const found = EVENTS.get(text);
    if (found === undefined) throw metadataError(`maintenance-event: not a value: ${text.slice(0, 60)}`);
    return found;
  });
  const shutdown = polledSource(metadata, { key: 'shutdown-details', everyMs: 10_000 }, (text) => {
    const details = parseJson(shutdownSchema, text, 'shutdown-details');
    if (details?.stopState !== 'PENDING_STOP') return undefined;
    const asked = details.requestTimestamp === undefined ? undefined : parseNoticeTime(details.requestTimestamp);
    const lasts = durationMs(details.maxDuration);
    const time = asked === undefined || lasts === undefined ? {} : { notBefore: asked + lasts };
    return { id: 'gcp/shutdown', kind: 'terminate', reason: 'GCE graceful shutdown', provider: PROVIDER, ...time };
  });
  const upcoming = polledSource(metadata, { key: 'upcoming-maintenance', everyMs: 60_000 }, (text) => {
    const found = parseJson(upcomingSchema, text, 'upcoming-maintenance');
    if (found?.windowStartTime === undefined) return undefined;
    const reason = `GCE ${(found.type ?? 'upcoming').toLowerCase()} maintenance`;
    const id = `gcp/upcoming/${found.windowStartTime}`;
    const time = found.maintenanceStatus === 'ONGOING' ? {} : timed(found.windowStartTime);
    return { id, kind: 'reboot', reason, provider: PROVIDER, ...time };
  });
  return [preempted, maintenance, shutdown, upcoming];
}
