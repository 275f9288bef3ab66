/** The shutdowns on this machine's disk. */
import { openStoryFiles, type StoryFiles, storyDirectory } from '../../agent/shutdown/story-files.ts';
import { loadAgentConfig } from '../../config/load.ts';
import type { ShutdownStory } from '../../decide/story/story.ts';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';
import { usage } from '../arguments/parse.ts';

/** The stories of this machine. */
interface LocalStories {
  readonly directory: string;
  readonly files: StoryFiles;
  /** When each shutdown began, the newest first. */
  readonly times: readonly number[];
}

/** Opens the stories of this machine's agent. Throws CONFIG_INVALID, and FILE_OPERATION_FAILED where they cannot be read. */
export async function openLocalStories(configPath: string): Promise<LocalStories> {
  const { stateDirectory } = await loadAgentConfig(configPath);
  const directory = storyDirectory(stateDirectory);
  const files = openStoryFiles(stateDirectory);
  try {
    return { directory, files, times: await files.list() };
  } catch (error) {
    const who = errorCodeOf(error) === 'EACCES' ? '; only root may read it: use sudo' : '';
    const message = `cannot read the shutdowns in ${directory}: ${describeError(error)}${who}`;
    throw new NodemaintError('FILE_OPERATION_FAILED', message, { cause: error });
  }
}

/** The story number `number` of this machine, where 1 is the newest. Throws USAGE, FILE_OPERATION_FAILED. */
export async function readLocalStory(
  { directory, files, times }: LocalStories,
  number: number,
): Promise<ShutdownStory> {
  if (times.length === 0) {
    throw new NodemaintError('FILE_OPERATION_FAILED', `no shutdown is recorded in ${directory} yet`);
  }
  const begunAt = times[number - 1];
  if (begunAt === undefined) {
    throw usage(`there is no shutdown ${number}: ${times.length} are recorded; list them with: nodemaint history`);
  }
  const story = await files.read(begunAt);
  if (story !== undefined) return story;
  const what = `${directory}/${begunAt}.json is damaged, or was written by another version of nodemaint`;
  throw new NodemaintError('FILE_OPERATION_FAILED', what);
}
