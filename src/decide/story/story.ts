/**
 * The story of one shutdown of a node: who asked, when each pod was asked to leave and was gone, what it waited for, and
 * what came back afterwards. It is bounded, whatever the node runs: the agent keeps it on its disk.
 */
import type { Wait } from '../node/waits.ts';
import { readInterceptorMessage, shortMessage } from '../interceptor/message.ts';
import { printable, shortened } from '../../printable.ts';
import { deadlineWords } from '../shutdown/events.ts';
import { canceler, type Phase, type Shutdown } from '../shutdown/phase.ts';
import type { Transition, TransitionName } from '../shutdown/transition.ts';

/**
 * What a pod does while it is still there: it ends by itself, an interceptor of its application acts, or it waits for
 * something else, such as a budget.
 */
export type WaitKind = 'ending' | 'interceptor' | 'waiting';

/** One thing that was waited for; it lasts until the next one begins, or the pod is gone. */
export interface StoryWait {
  /** Milliseconds since the epoch, as all times of a story. */
  readonly from: number;
  readonly kind: WaitKind;
  /** Who was to act. */
  readonly on: string;
  /** What was said; of a pod that ends by itself, what was said beside that. */
  readonly message: string;
}

/** The entry of the drain plan by which a pod was asked to leave. */
export interface StoryTier {
  readonly podType: string;
  readonly podPriority: number;
}

export interface StoryPod {
  /** NAMESPACE/NAME. */
  readonly pod: string;
  readonly tier?: StoryTier;
  readonly askedAt: number;
  /** Absent while it is there, and where it went down with the machine. */
  readonly goneAt?: number;
  readonly waits: readonly StoryWait[];
}

/** What happened to the shutdown as a whole. */
interface StoryEvent {
  readonly at: number;
  readonly what: TransitionName;
  /** Why, where there is something to say. */
  readonly text: string;
}

export interface ShutdownStory {
  readonly node: string;
  readonly maintenance: string;
  readonly origin: string;
  readonly reason: string;
  readonly begunAt: number;
  readonly events: readonly StoryEvent[];
  readonly pods: readonly StoryPod[];
  /** How many pods are not in it, because it is full. */
  readonly podsLeftOut: number;
  /** Whether the kubelet ended pods meanwhile, by its own graceful shutdown; absent where it was not seen to. */
  readonly kubeletEnds?: true;
  /** Whether PodDisruptionBudgets were not asked, because no other node stayed; absent where they were. */
  readonly budgetsNotAsked?: true;
  /** What the drain as a whole waited for, such as a controller. */
  readonly waits: readonly StoryWait[];
  /** The manifests that were put back, and when. */
  readonly returned: readonly { readonly what: string; readonly at: number }[];
}

/** What is seen of the drain at one moment. */
export interface StoryObservation {
  readonly at: number;
  /** What is waited for; pods are named NAMESPACE/NAME, what has no slash is the drain itself. */
  readonly waitingFor: readonly {
    readonly wait: Wait;
    readonly what: string;
    readonly on: string;
    readonly message: string;
    readonly since?: number;
  }[];
  /** The entry of the plan that was reached last. */
  readonly tier: StoryTier | undefined;
  /** Whether the kubelet holds a lock of its own, and ends pods by its own graceful shutdown. */
  readonly kubeletEnds?: boolean;
  /** Whether no other node stays, so that no PodDisruptionBudget is asked. */
  readonly budgetsNotAsked?: boolean;
}

/** The bounds of a story. Five hundred pods are more than a node has by default; the rest is counted. */
export const STORY_LIMITS = { pods: 500, waits: 6, events: 50, returned: 200, text: 200 } as const;

function textOf(text: string): string {
  return shortened(printable(text), STORY_LIMITS.text);
}

/** What a pod does that is waited for. */
function waitKindOf({ wait }: StoryObservation['waitingFor'][number]): WaitKind {
  if (wait === 'grace-period') return 'ending';
  return wait === 'interceptor' || wait === 'silent-interceptor' ? 'interceptor' : 'waiting';
}

/** The waits with another one; of too many the first ones and the last one are kept. */
function withWait(waits: readonly StoryWait[], wait: StoryWait): readonly StoryWait[] {
  const last = waits.at(-1);
  if (last !== undefined && last.kind === wait.kind && last.on === wait.on && last.message === wait.message)
    return waits;
  return [...waits.slice(0, STORY_LIMITS.waits - 1), wait];
}

function waitOf(seen: StoryObservation['waitingFor'][number], from: number): StoryWait {
  const kind = waitKindOf(seen);
  const said = readInterceptorMessage(seen.message);
  const more = said.kind === 'ending' ? said.more : '';
  return { from, kind, on: textOf(seen.on), message: textOf(kind === 'ending' ? more : shortMessage(seen.message)) };
}

function why({ name, from, to }: Transition): string {
  if (name === 'tighten') return deadlineWords(to).slice(2);
  if (name === 'force' && to.kind === 'released') return textOf(to.forced ?? '');
  if (name === 'boot') return from.kind === 'draining' ? 'the machine went down before its pods had ended' : '';
  if (name === 'cancel' && to.kind === 'recovering' && to.canceledBy !== undefined)
    return canceler(to).replace(/^,? /, '');
  return to.kind !== 'watching' && (name === 'loseCluster' || name === 'handOver') ? to.mode : '';
}

/** The beginning of a story. */
export function begunStory(node: string, shutdown: Shutdown): ShutdownStory {
  const { maintenance, origin, since } = shutdown;
  const begin: StoryEvent = {
    at: since,
    what: 'begin',
    text: deadlineWords({ kind: 'draining', ...shutdown }).slice(2),
  };
  const lists = { events: [begin], pods: [], podsLeftOut: 0, waits: [], returned: [] };
  return { node, maintenance, origin, reason: textOf(shutdown.reason), begunAt: since, ...lists };
}

/** Whether the story is the one of this phase's shutdown. */
export function isStoryOf(story: ShutdownStory, phase: Phase): boolean {
  return phase.kind !== 'watching' && phase.since === story.begunAt;
}

/** The story with a transition of its shutdown at `at`; a finished drain has no pods left. */
export function withTransition(story: ShutdownStory, transition: Transition, at: number): ShutdownStory {
  const event = { at, what: transition.name, text: why(transition) };
  const events = [...story.events, event].slice(0, STORY_LIMITS.events - 1);
  const told = { ...story, events: events.includes(event) ? events : [...events, event] };
  if (transition.name !== 'finish') return told;
  return { ...told, pods: told.pods.map((pod) => (pod.goneAt === undefined ? { ...pod, goneAt: at } : pod)) };
}

function seenPod(
  pod: StoryPod | undefined,
  seen: StoryObservation['waitingFor'][number],
  { at, tier }: StoryObservation,
  begunAt: number,
): StoryPod {
  if (pod === undefined) {
    // A request is older than its first look; one from before the shutdown counts from its beginning.
    const since = Math.max(begunAt, seen.since ?? at);
    // Times of the API are whole seconds: within one of them the look is more exact.
    const askedAt = at - since < 1000 ? at : since;
    return { pod: textOf(seen.what), askedAt, ...(tier === undefined ? {} : { tier }), waits: [waitOf(seen, askedAt)] };
  }
  const { goneAt: _back, ...rest } = pod;
  return { ...rest, waits: withWait(pod.waits, waitOf(seen, at)) };
}

/** The story with what is seen now: pods that are asked for the first time, what they wait for, those that are gone. */
export function withObservation(story: ShutdownStory, observation: StoryObservation): ShutdownStory {
  const pods = new Map(story.pods.map((pod) => [pod.pod, pod]));
  let { podsLeftOut, waits } = story;
  const seen = new Set<string>();
  for (const each of observation.waitingFor) {
    if (!each.what.includes('/')) {
      waits = withWait(waits, waitOf(each, observation.at));
      continue;
    }
    const key = textOf(each.what);
    seen.add(key);
    const known = pods.get(key);
    if (known === undefined && pods.size >= STORY_LIMITS.pods) continue;
    pods.set(key, seenPod(known, each, observation, story.begunAt));
  }
  podsLeftOut = Math.max(podsLeftOut, seen.size - STORY_LIMITS.pods);
  const after = [...pods.values()].map((pod) =>
    seen.has(pod.pod) || pod.goneAt !== undefined ? pod : { ...pod, goneAt: observation.at },
  );
  const facts = {
    ...(observation.kubeletEnds === true ? { kubeletEnds: true as const } : {}),
    ...(observation.budgetsNotAsked === true ? { budgetsNotAsked: true as const } : {}),
  };
  return { ...story, ...facts, pods: after, podsLeftOut, waits };
}

/** The story with the manifests that were parked before and are not any more. */
export function withReturned(story: ShutdownStory, files: readonly string[], at: number): ShutdownStory {
  if (files.length === 0) return story;
  const returned = [...story.returned, ...files.map((file) => ({ what: textOf(file), at }))];
  return { ...story, returned: returned.slice(0, STORY_LIMITS.returned) };
}
