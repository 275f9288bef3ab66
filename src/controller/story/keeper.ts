/** Keeps the stories of drains that are over, for whoever asks next week what happened. No drain waits for it. */
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Loop } from '../../kube/loop/loops.ts';
import { listKept, readKeptStory, removeKeptStory, writeKeptStory } from '../../kube/maintenance/kept-stories.ts';
import { storyOfMaintenance } from '../../show/story/from-cluster.ts';
import {
  type KeptEntry,
  type KeptState,
  type KeptStory,
  keptStateOf,
  mergedStory,
  removableStories,
} from '../../show/story/kept.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';

type StoryContext = Pick<ControllerContext, 'client' | 'clock' | 'options' | 'maintenances' | 'requests' | 'pods'>;

/** What the copies of the cluster's objects tell of the drain now. */
function toldBy({ maintenances, requests, pods }: StoryContext, maintenance: NodeMaintenance): KeptStory {
  const { name } = maintenance.metadata;
  const nodes = maintenances.nodesOf(name).flatMap(({ metadata: { name: node } }) => {
    const own = [...requests.onNode(node)].flatMap((key) => requests.get(key) ?? []);
    return storyOfMaintenance(maintenance, { node, requests: own, pods: pods.on(node) }) ?? [];
  });
  return { maintenance: name, nodes, nodesLeftOut: 0 };
}

/** Keeps the stories of one term of a leader. */
class StoryKeeper {
  readonly #context: StoryContext;
  readonly #most: number;
  /** By the UID of the maintenance; undefined until they are read. */
  #kept: Map<string, KeptEntry> | undefined;

  constructor(context: StoryContext, most: number) {
    this.#context = context;
    this.#most = most;
  }

  /** Keeps what is to be kept of the maintenances of this name: of the one that there is, and of one that had it before. */
  async keep(name: string, signal: AbortSignal): Promise<void> {
    const { client, options, maintenances } = this.#context;
    this.#kept ??= new Map((await listKept(client, options.namespace, signal)).map((entry) => [entry.uid, entry]));
    const maintenance = maintenances.get(name);
    const uid = maintenance?.metadata.uid;
    for (const entry of this.#kept.values()) {
      const isGone = entry.maintenance === name && entry.uid !== uid && entry.state === 'drained';
      if (isGone) await this.#write(entry.uid, 'ended', undefined, signal);
    }
    const state = maintenance === undefined ? undefined : keptStateOf(maintenance);
    if (maintenance === undefined || uid === undefined || state === undefined) return;
    const before = this.#kept.get(uid)?.state;
    if (before === state || before === 'ended') return;
    const told = toldBy(this.#context, maintenance);
    // One that has never begun to drain has no story.
    if (told.nodes.length > 0) await this.#write(uid, state, told, signal);
  }

  async #write(uid: string, state: KeptState, told: KeptStory | undefined, signal: AbortSignal): Promise<void> {
    const { client, options } = this.#context;
    const { namespace } = options;
    const former = this.#kept?.has(uid) === true ? await readKeptStory(client, namespace, uid, signal) : undefined;
    const story = told === undefined ? former : mergedStory(told, former);
    if (story === undefined) {
      this.#kept?.delete(uid);
      return;
    }
    const entry = await writeKeptStory(client, { namespace, uid, state, story }, signal);
    if (entry !== undefined) this.#kept?.set(uid, entry);
    await this.#removeOld(signal);
  }

  async #removeOld(signal: AbortSignal): Promise<void> {
    const { client, clock, options } = this.#context;
    const kept = this.#kept ?? new Map<string, KeptEntry>();
    for (const uid of removableStories([...kept.values()], this.#most, clock.now())) {
      await removeKeptStory(client, options.namespace, uid, signal);
      kept.delete(uid);
    }
  }
}

/** The loop that keeps stories, by the names of maintenances; one at a time. None where no story is to be kept. */
export function storyLoops(context: StoryContext): readonly Loop<Changes>[] {
  const { keptStories } = context.options;
  if (keptStories === undefined) return [];
  const keeper = new StoryKeeper(context, keptStories);
  const reconcile = async (name: string, signal: AbortSignal): Promise<object> => {
    await keeper.keep(name, signal);
    return {};
  };
  return [{ name: 'stories', parallel: 1, reconcile, concerns: { Maintenance: (name) => [name] } }];
}
