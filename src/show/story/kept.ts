/** The story of a drain as the cluster keeps it after the drain: bounded, and whole where the drain was not very large. */
import { DRAINED, type NodeMaintenance } from '../../api/node-maintenance.ts';
import type { ShutdownStory, StoryPod } from './story.ts';

/** How far a drain was when its story was kept: its pods had left; or its maintenance was complete, or is deleted. */
export type KeptState = 'drained' | 'ended';

/** The stories of one maintenance, one for each of its nodes. */
export interface KeptStory {
  readonly maintenance: string;
  readonly nodes: readonly ShutdownStory[];
  readonly nodesLeftOut: number;
}

/** What is kept of a story, to find those that are to be removed. */
export interface KeptEntry {
  /** The UID of the maintenance. */
  readonly uid: string;
  readonly maintenance: string;
  readonly state: KeptState;
  /** When it was kept first, in milliseconds since the epoch. */
  readonly at: number;
}

/** The bounds of what is kept of one maintenance. */
export const KEPT_LIMITS = { nodes: 50, characters: 100_000 } as const;
const KEPT_MS = 30 * 86_400_000;

/** How far a drain is, where there is a story to keep of it. */
export function keptStateOf(maintenance: NodeMaintenance): KeptState | undefined {
  const { metadata, status } = maintenance;
  const isComplete = status?.stageStatuses?.some(({ name }) => name === 'Complete');
  if (metadata.deletionTimestamp !== undefined || isComplete === true) return 'ended';
  const isDrained = status?.conditions?.some(({ type, status: is }) => type === DRAINED && is === 'True');
  return isDrained === true ? 'drained' : undefined;
}

/** How long a pod took to leave; one that has not left took longest. */
function spanOf({ askedAt, goneAt }: StoryPod): number {
  return goneAt === undefined ? Infinity : goneAt - askedAt;
}

/** The story with so many pods, those that took longest to leave. */
function withPods(story: ShutdownStory, most: number): ShutdownStory {
  if (story.pods.length <= most) return story;
  const longest = new Set(story.pods.toSorted((a, b) => spanOf(b) - spanOf(a)).slice(0, most));
  const pods = story.pods.filter((pod) => longest.has(pod));
  return { ...story, pods, podsLeftOut: story.podsLeftOut + story.pods.length - pods.length };
}

/**
 * What is kept of a story. Of a very large drain the pods that took longest to leave are in it, and the others are counted;
 * `lengthOf` tells how many characters a story takes.
 */
export function boundedStory(story: KeptStory, lengthOf: (story: KeptStory) => number): KeptStory {
  const first = story.nodes.slice(0, KEPT_LIMITS.nodes);
  const left = story.nodesLeftOut + story.nodes.length - first.length;
  const boundedTo = (most: number): KeptStory => {
    return { ...story, nodes: first.map((each) => withPods(each, most)), nodesLeftOut: left };
  };
  let most = Math.max(0, ...first.map(({ pods }) => pods.length));
  while (most > 0 && lengthOf(boundedTo(most)) > KEPT_LIMITS.characters) most = Math.floor(most / 2);
  return boundedTo(most);
}

/** The story with the pods that the newer one knows no longer, because their requests are deleted. */
function withFormerPods(newer: ShutdownStory, older: ShutdownStory | undefined): ShutdownStory {
  if (older === undefined || older.begunAt !== newer.begunAt) return newer;
  const known = new Set(newer.pods.map(({ pod, askedAt }) => `${pod} ${askedAt}`));
  const former = older.pods.filter(({ pod, askedAt }) => !known.has(`${pod} ${askedAt}`));
  return { ...newer, pods: [...former, ...newer.pods], podsLeftOut: Math.max(older.podsLeftOut, newer.podsLeftOut) };
}

/** What is to be kept where something was kept before; `newer` is what the objects of the cluster tell now. */
export function mergedStory(newer: KeptStory, older: KeptStory | undefined): KeptStory {
  if (older === undefined) return newer;
  const nodes = newer.nodes.map((story) => {
    const former = older.nodes.find(({ node }) => node === story.node);
    return withFormerPods(story, former);
  });
  const gone = older.nodes.filter(({ node }) => nodes.every((story) => story.node !== node));
  return { ...newer, nodes: [...gone, ...nodes], nodesLeftOut: Math.max(older.nodesLeftOut, newer.nodesLeftOut) };
}

/** The UIDs of those that are kept no longer: the oldest of more than `most`, and those of more than 30 days ago. */
export function removableStories(entries: readonly KeptEntry[], most: number, now: number): readonly string[] {
  const newest = entries.toSorted((a, b) => b.at - a.at || a.uid.localeCompare(b.uid));
  return newest.flatMap(({ uid, at }, place) => (place >= most || now - at > KEPT_MS ? [uid] : []));
}
