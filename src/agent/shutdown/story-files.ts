/** The last shutdowns of this node on its disk: one file each, for root only, few and of bounded size. */
import { mkdir, readdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { TRANSITIONS } from '../../decide/shutdown/transition.ts';
import { type ShutdownStory, STORY_LIMITS } from '../../decide/story/story.ts';
import { errorCodeOf } from '../../errors.ts';
import { readBoundedFile } from '../../host/files/bounded-file.ts';
import { replaceFile } from '../../host/files/durable-file.ts';

/** The stories, each by the time at which its shutdown began, in milliseconds since the epoch. */
export interface StoryFiles {
  /** When the shutdowns began, the newest first. Throws the errors of Node.js where the folder cannot be read. */
  list(): Promise<readonly number[]>;
  /** Undefined where there is none, or the file is not a story of this version. */
  read(begunAt: number): Promise<ShutdownStory | undefined>;
  /** Replaces the story in one durable step and removes the oldest ones that are too many. Throws the errors of Node.js. */
  write(story: ShutdownStory): Promise<void>;
}

/** How many shutdowns a node keeps. */
export const MAX_STORIES = 20;
/** Larger than any story within its limits, in the bytes of the widest characters. */
const MAX_BYTES = 4 * 1024 * 1024;
const NAME = /^(\d{1,15})\.json$/;
const VERSION = 1;

/** A file is believed no more than what comes from the network. Made when a story is read: an idle agent reads none. */
function makeStorySchema() {
  const text = z.string().max(4 * STORY_LIMITS.text);
  const time = z.number().min(0).max(8.64e15);
  const wait = z.object({ from: time, kind: z.enum(['ending', 'interceptor', 'waiting']), on: text, message: text });
  const pod = z.object({
    pod: text,
    tier: z.object({ podType: z.string().max(40), podPriority: z.number() }).exactOptional(),
    askedAt: time,
    goneAt: time.exactOptional(),
    waits: z.array(wait).max(STORY_LIMITS.waits),
  });
  const what = z.enum(TRANSITIONS);
  return z.object({
    version: z.literal(VERSION),
    node: z.string().max(253),
    maintenance: z.string().max(253),
    origin: z.string().max(40),
    reason: text,
    begunAt: time,
    events: z.array(z.object({ at: time, what, text })).max(STORY_LIMITS.events),
    pods: z.array(pod).max(STORY_LIMITS.pods),
    podsLeftOut: z.int().min(0),
    kubeletEnds: z.literal(true).exactOptional(),
    budgetsNotAsked: z.literal(true).exactOptional(),
    waits: z.array(wait).max(STORY_LIMITS.waits),
    returned: z.array(z.object({ what: text, at: time })).max(STORY_LIMITS.returned),
  });
}

/** The story in the text of its file; undefined where it is none of this version. */
export function parseStory(text: string): ShutdownStory | undefined {
  try {
    const { version: _, ...story } = makeStorySchema().parse(JSON.parse(text));
    return story;
  } catch {
    return undefined;
  }
}

/** The folder of the stories in the agent's state directory. */
export function storyDirectory(stateDirectory: string): string {
  return path.join(stateDirectory, 'shutdowns');
}

async function listTimes(directory: string): Promise<readonly number[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return [];
    throw error;
  });
  const times = names.flatMap((name) => NAME.exec(name)?.[1] ?? []).map(Number);
  return times.toSorted((a, b) => b - a);
}

/** Opens them; the folder is made when the first one is written. */
export function openStoryFiles(stateDirectory: string): StoryFiles {
  const directory = storyDirectory(stateDirectory);
  const fileOf = (begunAt: number): string => path.join(directory, `${begunAt}.json`);
  const list = (): Promise<readonly number[]> => listTimes(directory);
  return {
    list,
    read: async (begunAt) => {
      const text = await readBoundedFile(fileOf(begunAt), MAX_BYTES).catch(() => undefined);
      return text === undefined ? undefined : parseStory(text);
    },
    write: async (story) => {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await replaceFile(fileOf(story.begunAt), `${JSON.stringify({ version: VERSION, ...story })}\n`, 0o600);
      // A clock that was set back makes this one old: it stays all the same.
      const others = (await list()).filter((begunAt) => begunAt !== story.begunAt);
      for (const begunAt of others.slice(MAX_STORIES - 1)) await unlink(fileOf(begunAt));
    },
  };
}
