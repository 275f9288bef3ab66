/** The stories of finished drains in the cluster: a ConfigMap for each maintenance, in the controller's namespace. */
import type { KubeObject } from '../../api/meta.ts';
import { STORY_LABEL, STORY_OF_ANNOTATION } from '../../api/names.ts';
import { timeOf } from '../../decide/time.ts';
import type { KeptEntry, KeptState, KeptStory } from '../../show/story/kept.ts';
import type { KubeClient } from '../client.ts';
import { type ObjectPage, readPages } from '../list.ts';
import { refusal } from '../refusal.ts';
import { keptDocument, readKeptDocument } from './story-document.ts';
import { collectionPath, objectPath, type Resource, sendForObject } from '../resource.ts';

const CONFIG_MAPS: Resource = { root: '/api/v1', plural: 'configmaps', namespaced: true };
const PREFIX = 'nodemaint-story-';
const KEY = 'story.json';
const MANAGER = 'nodemaint-stories';
const UID = /^[0-9a-f-]{1,64}$/;

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

function placeOf(namespace: string, uid: string): { readonly namespace: string; readonly name: string } {
  return { namespace, name: `${PREFIX}${uid}` };
}

/** What is known of a story by the metadata of its ConfigMap; undefined where that has been changed by somebody else. */
function entryOfConfigMap({ metadata }: KubeObject): KeptEntry | undefined {
  const { name, labels = {}, annotations = {} } = metadata;
  const uid = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : '';
  const at = timeOf(metadata.creationTimestamp);
  const { [STORY_LABEL]: state } = labels;
  const { [STORY_OF_ANNOTATION]: maintenance } = annotations;
  if (!UID.test(uid) || at === undefined || maintenance === undefined) return undefined;
  if (state !== 'drained' && state !== 'ended') return undefined;
  return { uid, maintenance, state, at };
}

/** The story of a ConfigMap; undefined where it has none that can be read. */
function storyOfConfigMap({ data }: ConfigMap): KeptStory | undefined {
  return readKeptDocument(data?.[KEY] ?? '');
}

/** Reads the ConfigMaps of stories, or of each its metadata alone. */
async function readAll<T>(
  client: KubeClient,
  { namespace, namesOnly }: { readonly namespace: string; readonly namesOnly: boolean },
  trim: (object: ConfigMap) => T,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const ask = async (page: Readonly<Record<string, string>>, only: boolean): Promise<ObjectPage<ConfigMap>> => {
    const query = new URLSearchParams({ labelSelector: STORY_LABEL, ...page }).toString();
    const path = `${collectionPath(CONFIG_MAPS, namespace)}?${query}`;
    const request = { method: 'GET', path, namesOnly: namesOnly || only, patient: true } as const;
    const response = await client.send(request, signal);
    if (response.status === 200) return response.body as ObjectPage<ConfigMap>;
    throw refusal(response);
  };
  return (await readPages<ConfigMap, T>(ask, trim)).items;
}

/** Which stories are kept in a namespace; reads no story. Throws API_REFUSED and API_UNREACHABLE. */
export async function listKept(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly KeptEntry[]> {
  const entries = await readAll(client, { namespace, namesOnly: true }, entryOfConfigMap, signal);
  return entries.flatMap((entry) => entry ?? []);
}

/** A story, and what is known of it; without the story where it cannot be read. */
export interface ReadStory {
  readonly entry: KeptEntry;
  readonly story: KeptStory | undefined;
}

/** Reads all stories of a namespace, the newest first. Throws API_REFUSED, with the right that is missing, and API_UNREACHABLE. */
export async function readKeptStories(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly ReadStory[]> {
  const read = (object: ConfigMap): readonly ReadStory[] => {
    const entry = entryOfConfigMap(object);
    return entry === undefined ? [] : [{ entry, story: storyOfConfigMap(object) }];
  };
  const all = (await readAll(client, { namespace, namesOnly: false }, read, signal)).flat();
  return all.toSorted((a, b) => b.entry.at - a.entry.at);
}

/** Reads one story; undefined where there is none that can be read. Throws API_REFUSED and API_UNREACHABLE. */
export async function readKeptStory(
  client: KubeClient,
  namespace: string,
  uid: string,
  signal: AbortSignal,
): Promise<KeptStory | undefined> {
  const path = objectPath(CONFIG_MAPS, placeOf(namespace, uid));
  const found = await sendForObject<ConfigMap>(client, { method: 'GET', path, patient: true }, [404], signal);
  return found === undefined ? undefined : storyOfConfigMap(found);
}

/** Writes a story, in place of the one of the same maintenance; returns what was written. Throws API_REFUSED and API_UNREACHABLE. */
export async function writeKeptStory(
  client: KubeClient,
  { namespace, uid, state, story }: { namespace: string; uid: string; state: KeptState; story: KeptStory },
  signal: AbortSignal,
): Promise<KeptEntry | undefined> {
  const place = placeOf(namespace, uid);
  const labels = { [STORY_LABEL]: state };
  const annotations = { [STORY_OF_ANNOTATION]: story.maintenance };
  const metadata = { ...place, labels, annotations };
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [KEY]: keptDocument(story) } };
  const path = objectPath(CONFIG_MAPS, place);
  const request = { method: 'PATCH', path, body, patch: { kind: 'apply', manager: MANAGER }, patient: true } as const;
  const written = await sendForObject<KubeObject>(client, request, [], signal);
  return written === undefined ? undefined : entryOfConfigMap(written);
}

/** Deletes a story. Throws API_REFUSED and API_UNREACHABLE. */
export async function removeKeptStory(
  client: KubeClient,
  namespace: string,
  uid: string,
  signal: AbortSignal,
): Promise<void> {
  const path = objectPath(CONFIG_MAPS, placeOf(namespace, uid));
  await sendForObject(client, { method: 'DELETE', path, patient: true }, [404], signal);
}
