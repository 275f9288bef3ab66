/** Stories as they are kept on a disk and in the cluster. */
import * as z from 'zod';
import { boundedStory, KEPT_LIMITS, type KeptStory } from '../../show/story/kept.ts';
import { type ShutdownStory, STORY_LIMITS } from '../../show/story/story.ts';

const VERSION = 1;

/** What was kept is believed no more than what comes from the network. Made when a story is read: an idle agent reads none. */
function makeStorySchema() {
  const text = z.string().max(4 * STORY_LIMITS.text);
  const time = z.number().min(0).max(8.64e15);
  const wait = z.object({
    from: time,
    kind: z.enum(['ending', 'interceptor', 'waiting']),
    on: text,
    message: text,
  });
  const pod = z.object({
    pod: text,
    tier: z.object({ podType: z.string().max(40), podPriority: z.number() }).exactOptional(),
    askedAt: time,
    goneAt: time.exactOptional(),
    waits: z.array(wait).max(STORY_LIMITS.waits),
  });
  const what = z.enum([
    'begin',
    'tighten',
    'specify',
    'relax',
    'rename',
    'loseCluster',
    'handOver',
    'finish',
    'force',
    'cancel',
    'boot',
    'settle',
  ]);
  return z.object({
    version: z.literal(VERSION),
    node: z.string().max(253),
    maintenance: z.string().max(253),
    origin: z.string().max(40),
    reason: text,
    requestedBy: text.exactOptional(),
    begunAt: time,
    events: z.array(z.object({ at: time, what, text })).max(STORY_LIMITS.events),
    pods: z.array(pod).max(STORY_LIMITS.pods),
    podsLeftOut: z.int().min(0),
    kubeletEnds: z.literal(true).exactOptional(),
    waits: z.array(wait).max(STORY_LIMITS.waits),
    returned: z.array(z.object({ what: text, at: time })).max(STORY_LIMITS.returned),
  });
}

/** A story as it is kept, a document for JSON. */
export function storyDocument(story: ShutdownStory): object {
  return { version: VERSION, ...story };
}

/** A story that was kept. Throws the errors of zod where it is none of this version. */
export function parseStory(document: unknown): ShutdownStory {
  const { version: _, ...story } = makeStorySchema().parse(document);
  return story;
}

function textOf({ nodes, ...story }: KeptStory): string {
  return JSON.stringify({ ...story, nodes: nodes.map(storyDocument) });
}

/** The text of a story that the cluster keeps, within its bounds. */
export function keptDocument(story: KeptStory): string {
  return textOf(boundedStory(story, (each) => textOf(each).length));
}

/** Reads what was kept; undefined where it cannot be read, as where a person has changed it. */
export function readKeptDocument(text: string): KeptStory | undefined {
  if (text.length > 2 * KEPT_LIMITS.characters) return undefined;
  try {
    const { maintenance, nodes, nodesLeftOut } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (typeof maintenance !== 'string' || !Array.isArray(nodes) || !Number.isSafeInteger(nodesLeftOut))
      return undefined;
    return { maintenance, nodes: nodes.map(parseStory), nodesLeftOut: nodesLeftOut as number };
  } catch {
    return undefined;
  }
}
