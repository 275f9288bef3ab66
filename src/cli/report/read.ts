/** Finds the shutdown that a report is about: on this machine's disk, or in the cluster. */
import { openStoryFiles, type StoryFiles, storyDirectory } from '../../agent/shutdown/story-files.ts';
import type { Pod } from '../../api/pod.ts';
import { loadAgentConfig } from '../../config/load.ts';
import { nodesOf } from '../../decide/maintenance/named-target.ts';
import { storyOfMaintenance } from '../../show/story/from-cluster.ts';
import type { ShutdownStory } from '../../show/story/story.ts';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';
import { CONTROLLER_NAMESPACE } from '../../api/lease.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listKept, readKeptStory } from '../../kube/maintenance/kept-stories.ts';
import { keptStateOf } from '../../show/story/kept.ts';
import type { ClusterClients } from '../cluster/cluster.ts';
import { onNode, PODS } from '../../kube/resource.ts';
import { usage } from '../arguments/parse.ts';
import { readDrainRequests } from '../follow/maintenance/requests.ts';

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

/** The story of the maintenance that the controller has kept; of several that had this name one after another, the newest. */
async function findKept(client: KubeClient, name: string, signal: AbortSignal): Promise<readonly ShutdownStory[]> {
  const entries = await listKept(client, CONTROLLER_NAMESPACE, signal).catch((error: unknown) => {
    // Without the right to read them they are not there for this user.
    if (errorCodeOf(error) === 'API_REFUSED') return [];
    throw error;
  });
  const [newest] = entries.filter(({ maintenance }) => maintenance === name).toSorted((a, b) => b.at - a.at);
  if (newest === undefined) return [];
  return (await readKeptStory(client, CONTROLLER_NAMESPACE, newest.uid, signal))?.nodes ?? [];
}

/**
 * The stories of a maintenance, one for each of its nodes: from its objects while it is there and not complete, else as the
 * controller has kept them. Throws API_REFUSED where it is not known, or has not begun to drain.
 */
export async function readClusterStories(
  { client: kube, maintenances: client }: ClusterClients,
  name: string,
  signal: AbortSignal,
): Promise<readonly ShutdownStory[]> {
  const [maintenance, nodes] = await Promise.all([client.findMaintenance(name, signal), client.nodes(signal)]);
  if (maintenance === undefined || keptStateOf(maintenance) === 'ended') {
    const kept = await findKept(kube, name, signal);
    if (kept.length > 0) return kept;
  }
  if (maintenance === undefined) {
    const how = 'the drains that are over: nodemaint history --cluster';
    throw new NodemaintError('API_REFUSED', `nodemaintenances "${name}" not found; ${how}`);
  }
  const stories: ShutdownStory[] = [];
  for (const node of nodesOf(maintenance, nodes)) {
    const requests = [...(await readDrainRequests(client, [node], signal)).values()];
    const pods = await client.list<Pod>(PODS, `fieldSelector=${encodeURIComponent(onNode(node))}`, signal);
    const story = storyOfMaintenance(maintenance, { node, requests, pods });
    if (story !== undefined) stories.push(story);
  }
  if (stories.length > 0) return stories;
  throw new NodemaintError(
    'API_REFUSED',
    `nodemaintenance/${name} has not begun to drain a node; there is nothing to report`,
  );
}
