/** The last shutdowns of this node on its disk: one file each, for root only, few and of bounded size. */
import { mkdir, readdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { ShutdownStory } from '../../show/story/story.ts';
import { parseStory, storyDocument } from '../../kube/maintenance/story-document.ts';
import { errorCodeOf } from '../../errors.ts';
import { readBoundedFile } from '../../host/files/bounded-file.ts';
import { replaceFile } from '../../host/files/durable-file.ts';

/** The stories, each by the time at which its shutdown began, in milliseconds since the epoch. */
export interface StoryFiles {
  /** When the shutdowns began, the newest first. Throws the errors of Node.js where the folder cannot be read. */
  list(): Promise<readonly number[]>;
  /** The file as it is. Throws the errors of Node.js, and where it is too long. */
  text(begunAt: number): Promise<string>;
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
    text: (begunAt) => readBoundedFile(fileOf(begunAt), MAX_BYTES),
    read: async (begunAt) => {
      try {
        return parseStory(JSON.parse(await readBoundedFile(fileOf(begunAt), MAX_BYTES)));
      } catch {
        return undefined;
      }
    },
    write: async (story) => {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await replaceFile(fileOf(story.begunAt), `${JSON.stringify(storyDocument(story))}\n`, 0o600);
      // A clock that was set back makes this one old: it stays all the same.
      const others = (await list()).filter((begunAt) => begunAt !== story.begunAt);
      for (const begunAt of others.slice(MAX_STORIES - 1)) await unlink(fileOf(begunAt));
    },
  };
}
