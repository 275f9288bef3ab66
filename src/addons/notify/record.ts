import { objectPath, type Resource, sendForObject } from '../../kube/resource.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { KubeClient } from '../../kube/client.ts';
import { NodemaintError } from '../../errors.ts';
import { MAX_ENTRIES, readSent, type Sent, sentText } from './decide/sent.ts';

const CONFIG_MAPS: Resource = { root: '/api/v1', plural: 'configmaps', namespaced: true };
/** The object that has what was told; the manifests make it. */
const RECORD_NAME = 'nodemaint-notify';

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** What was told of each drain, by the UID of its maintenance: in memory, and in the cluster for the next leader. */
export interface SentRecord {
  list(): Iterable<readonly [string, Sent]>;
  get(uid: string): Sent | undefined;
  /** Remembers an entry, and writes it; undefined takes it away. Rejects where it is remembered only: then it is to be saved. */
  set(uid: string, told: Sent | undefined, signal: AbortSignal): Promise<void>;
  /** Writes the entry where it is remembered only. */
  save(uid: string, signal: AbortSignal): Promise<void>;
  /** Whether there is room for another entry. */
  hasRoom(): boolean;
}

/**
 * Reads the record from its ConfigMap in the namespace. Throws API_REFUSED where it is not there: without it the next leader
 * would tell everything again.
 */
export async function loadRecord(client: KubeClient, namespace: string, signal: AbortSignal): Promise<SentRecord> {
  const path = objectPath(CONFIG_MAPS, { namespace, name: RECORD_NAME });
  const found = await sendForObject<ConfigMap>(client, { method: 'GET', path }, [404], signal);
  if (found === undefined) {
    const how = 'kubectl apply -k manifests/notify makes it';
    throw new NodemaintError('API_REFUSED', `there is no ConfigMap ${namespace}/${RECORD_NAME}; ${how}`);
  }
  const entries = new Map<string, Sent>();
  for (const [uid, text] of Object.entries(found.data ?? {})) {
    const told = readSent(text);
    if (told !== undefined) entries.set(uid, told);
  }
  const unsaved = new Set<string>();
  const save = async (uid: string, ending: AbortSignal): Promise<void> => {
    if (!unsaved.has(uid)) return;
    const told = entries.get(uid);
    const body = { data: { [uid]: told === undefined ? null : sentText(told) } };
    await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [], ending);
    unsaved.delete(uid);
  };
  return {
    list: () => entries,
    get: (uid) => entries.get(uid),
    set: async (uid, told, ending) => {
      if (told === undefined) entries.delete(uid);
      else entries.set(uid, told);
      unsaved.add(uid);
      await save(uid, ending);
    },
    save,
    hasRoom: () => entries.size < MAX_ENTRIES,
  };
}
