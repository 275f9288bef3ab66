/** The writes of a responder: its own entry of an Eviction, and no other. */
import { type Eviction, LIFECYCLE_API_VERSION, type ResponderStatus } from '../../api/lifecycle.ts';
import type { KubeObject } from '../../api/meta.ts';
import { decideReport } from '../../decide/lifecycle/report.ts';
import { responderEntry } from '../../decide/lifecycle/translation.ts';
import type { Progress } from '../../decide/eviction/heartbeat.ts';
import type { KubeClient } from '../client.ts';
import { objectPath, sendForObject } from '../resource.ts';
import { readEviction } from './parse.ts';
import { EVICTIONS } from './resources.ts';

async function applyEntry(
  client: KubeClient,
  { metadata }: Eviction,
  entry: ResponderStatus,
  signal: AbortSignal,
): Promise<Eviction | undefined> {
  const { name, namespace, uid } = metadata;
  const body = {
    apiVersion: LIFECYCLE_API_VERSION,
    kind: 'Eviction',
    // The UID makes the write fail where the Eviction was replaced.
    metadata: { name, namespace, uid },
    status: { responders: [entry] },
  };
  const path = objectPath(EVICTIONS, metadata, 'status');
  const patch = { kind: 'apply', manager: entry.name } as const;
  const fresh = await sendForObject<KubeObject>(client, { method: 'PATCH', path, body, patch }, [404, 409], signal);
  return fresh === undefined ? undefined : readEviction(fresh).read;
}

/** Who reports, what, and when in milliseconds since the epoch by the API server's clock. */
interface ResponderReport {
  readonly responder: string;
  readonly progress: Progress;
  readonly now: number;
}

/**
 * Writes a report into the responder's own entry where a write is due. Returns the Eviction after it; undefined where nothing
 * was written. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function reportAsResponder(
  client: KubeClient,
  eviction: Eviction,
  { responder, progress, now }: ResponderReport,
  signal: AbortSignal,
): Promise<Eviction | undefined> {
  const old = responderEntry(eviction, responder);
  const entry = old === undefined ? undefined : decideReport(old, progress, now);
  return entry === undefined ? undefined : await applyEntry(client, eviction, entry, signal);
}
