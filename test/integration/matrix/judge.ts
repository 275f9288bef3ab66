/** What is judged of a cell. */
import { CORDONED_ANNOTATION, OWN_LABEL_PREFIX } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { checkLeftOvers } from '../../chaos/invariants/given-back.ts';
import type { EvictionCall } from './audit.ts';
import { isMarked, maintenancesIn, nodesIn, type Place, podsIn, requestsIn } from './place.ts';

/** So many calls may be refused at the beginning; each pause after that is twice as long as the one before. */
const FIRST_CALLS = 4;
const FIRST_PAUSE_MS = 2_000;

type Texts = Readonly<Record<string, string>> | undefined;

function ownKeys(texts: Texts): readonly string[] {
  return Object.keys(texts ?? {}).filter((key) => key.startsWith(OWN_LABEL_PREFIX));
}

/** What is left of the product in the cell, when no drain is in progress and nobody asks for its pods. */
export function leftOvers(place: Place): readonly string[] {
  const present = {
    nodes: () => nodesIn(place),
    pods: () => podsIn(place),
    maintenances: () => maintenancesIn(place),
    requests: () => requestsIn(place).filter(({ spec }) => (spec.requesters ?? []).length > 0),
  };
  const found = checkLeftOvers(present, false).map(({ what, detail }) => `${what}: ${detail}`);
  for (const { metadata } of nodesIn(place)) {
    if (metadata.annotations?.[CORDONED_ANNOTATION] !== undefined)
      found.push(`a node keeps its cordon: ${metadata.name}`);
  }
  for (const { metadata } of podsIn(place)) {
    const keys = [...ownKeys(metadata.labels), ...ownKeys(metadata.annotations)];
    for (const key of keys) found.push(`a pod keeps ${key}: ${metadata.name}`);
  }
  return found;
}

function isAskedAt({ calledOffAt, askedAgainAt }: Place, at: number): boolean {
  return at < calledOffAt || at >= askedAgainAt;
}

/** The marks of pods that were taken back while somebody asked for their eviction. */
export function marksTakenBack(place: Place): readonly string[] {
  // While a request is deleted nobody asks.
  if (place.cell.ending === 'deleted' || place.cell.ending === 'held') return [];
  const marked = new Set<string>();
  const found: string[] = [];
  for (const { kind, object, at, deleted } of place.record.changes.toSorted((a, b) => a.revision - b.revision)) {
    if (kind !== 'Pod' || deleted) continue;
    const { name, uid = '', deletionTimestamp } = object.metadata;
    if (isMarked(object)) marked.add(uid);
    else if (marked.delete(uid) && deletionTimestamp === undefined && isAskedAt(place, at)) {
      found.push(`the mark is taken back while somebody asks for the eviction: ${name}`);
    }
  }
  return found;
}

/** How many refused calls are allowed in this time: each pause is twice as long as the one before. */
function allowedIn(ms: number): number {
  return FIRST_CALLS + Math.log2(1 + ms / FIRST_PAUSE_MS);
}

function judgePod(place: Place, pod: string, calls: readonly EvictionCall[]): readonly string[] {
  const found: string[] = [];
  const after = (isLast: (call: EvictionCall) => boolean): readonly EvictionCall[] => {
    const index = calls.findIndex(isLast);
    return index === -1 ? [] : calls.slice(index + 1);
  };
  const again = after(({ code }) => code >= 200 && code < 300).length;
  if (again > 0) found.push(`${pod} is asked for ${again} more times after it was told to end`);
  const promised = after(({ message }) => message.includes('Eviction triggered')).length;
  if (promised > 0) found.push(`${pod} is asked for ${promised} more times after its eviction was promised`);
  if (pod.endsWith('-takeover') && calls.length > 0) {
    found.push(`${pod} is left to its controller, and ${calls.length} times evicted all the same`);
  }
  const refused = calls.filter(({ code }) => code >= 400);
  const ms = (refused.at(-1)?.at ?? 0) - (refused[0]?.at ?? 0);
  // What changes the budget, the request or the leader begins the pauses anew.
  const begun = place.cell.budget === 'later' || place.cell.ending !== 'completed' ? 2 : 1;
  if (refused.length > begun * allowedIn(ms)) {
    found.push(`${pod} is asked for ${refused.length} times in ${ms} ms although it is refused each time`);
  }
  return found;
}

/** What was asked for too often, or although nobody wanted it any more, of all that the API server has seen. */
export function judgeCalls(place: Place, all: readonly EvictionCall[]): readonly string[] {
  const own = all.filter(({ pod }) => pod.startsWith(`${place.id}/`));
  const pods = new Set(own.map(({ pod }) => pod));
  const found = [...pods].flatMap((pod) =>
    judgePod(
      place,
      pod,
      own.filter((call) => call.pod === pod),
    ),
  );
  if (place.cell.ending !== 'canceled' && place.cell.ending !== 'withdrawn') return found;
  const late = own
    .filter(({ at }) => at > place.quietAt)
    .map(({ pod }) => `${pod} is asked for after the drain is called off`);
  return [...found, ...late, ...gonePods(place)];
}

/** The pods that were told to end although their drain is called off. */
function gonePods(place: Place): readonly string[] {
  const present = new Map(podsIn(place).map((pod): [string | undefined, Pod] => [pod.metadata.uid, pod]));
  return [...place.staying].flatMap((uid) => {
    const pod = present.get(uid);
    return pod !== undefined && pod.metadata.deletionTimestamp === undefined
      ? []
      : [`a pod left after its drain was called off: ${pod?.metadata.name ?? uid}`];
  });
}
