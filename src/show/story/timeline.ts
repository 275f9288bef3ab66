/** From the story of a shutdown to what is drawn of it: spans on one axis, and where the time went. */
import { IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import type { ShutdownStory, StoryPod, StoryTier, StoryWait, WaitKind } from '../../decide/story/story.ts';

/** How a shutdown ended. */
type Outcome = 'under way' | 'drained' | 'not drained' | 'called off' | 'went down undrained';

/** One thing that lasted; times in milliseconds since the epoch. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly kind: WaitKind;
  /** Who was to act, and what was said. */
  readonly text: string;
}

/** One pod. */
export interface Row {
  readonly pod: string;
  readonly from: number;
  readonly to: number;
  /** Whether it left; else it was there at the end. */
  readonly gone: boolean;
  readonly spans: readonly Span[];
}

interface TierRows {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly rows: readonly Row[];
}

/** Where the time of the hold went, in milliseconds; the parts add up to `heldMs`. */
interface TimeSpent {
  readonly heldMs: number;
  /** At least one pod was ending by itself. */
  readonly endingMs: number;
  /** No pod was ending; an interceptor of an application acted. */
  readonly interceptorMs: number;
  /** Nothing but waiting for what is named in `causes`. */
  readonly waitingMs: number;
  /** No pod was asked to leave: the agent, the controller and the API server were at work. */
  readonly betweenMs: number;
  /** What the hold added to the applications' own time: all but `endingMs` and `interceptorMs`. */
  readonly addedMs: number;
}

/** What was waited for, by how many pods, and how long at least one of them did, in milliseconds. */
interface WaitCause {
  readonly text: string;
  readonly kind: WaitKind;
  readonly pods: number;
  readonly ms: number;
}

/** A moment of the shutdown as a whole. */
interface Moment {
  readonly at: number;
  readonly text: string;
}

export interface Timeline {
  readonly node: string;
  readonly maintenance: string;
  readonly origin: string;
  readonly reason: string;
  readonly outcome: Outcome;
  /** Whether the hold ended, and the machine could go down. */
  readonly isReleased: boolean;
  /** Why it was released with pods left, or undefined. */
  readonly why?: string;
  readonly from: number;
  /** The end of the hold, or the present. */
  readonly to: number;
  readonly spent: TimeSpent;
  readonly causes: readonly WaitCause[];
  readonly tiers: readonly TierRows[];
  readonly pods: number;
  readonly podsLeft: number;
  readonly podsLeftOut: number;
  /** As in the story. */
  readonly kubeletEnds?: true;
  /** As in the story. */
  readonly budgetsNotAsked?: true;
  readonly moments: readonly Moment[];
  /** From the release until the agent was back, in milliseconds; absent where the machine did not go down. */
  readonly awayMs?: number;
}

const WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    begin: 'the shutdown is held',
    tighten: 'an earlier deadline became known',
    specify: 'it became known how the machine goes down',
    relax: 'the deadline of a trigger was taken back',
    rename: 'the maintenance got another name',
    loseCluster: 'the drain goes on without the cluster',
    handOver: 'the cluster goes on with the drain',
    finish: 'all pods have left, the machine may go down',
    force: 'the machine may go down with pods left',
    cancel: 'the shutdown was called off',
    boot: 'the machine is back',
    settle: 'everything is back in its place',
  }),
);

function outcomeOf({ events }: ShutdownStory): Outcome {
  const happened = new Set(events.map(({ what }) => what));
  // A shutdown may be called off after its release: then the machine has never gone down.
  if (happened.has('cancel')) return 'called off';
  if (happened.has('force')) return 'not drained';
  if (happened.has('finish')) return 'drained';
  return happened.has('boot') ? 'went down undrained' : 'under way';
}

/** The end of the hold: the release, else what ended it, else the present. */
function endOf({ events, begunAt }: ShutdownStory, now: number): number {
  const ends = new Set(['finish', 'force', 'cancel', 'boot']);
  return Math.max(begunAt, events.find(({ what }) => ends.has(what))?.at ?? now);
}

const ENDS_BY_ITSELF = 'it ends by itself';
/** What many pods have in common that end by themselves, as a cause of the wait. */
const OWN_END = 'their own end';

/** The last resort of an eviction says itself what it waits for, and why budgets were not asked for a pod that ends. */
function textOf({ kind, on, message }: StoryWait): string {
  if (kind === 'ending') return message === '' ? ENDS_BY_ITSELF : `${ENDS_BY_ITSELF}: ${message}`;
  if (message === '') return `${on} to begin`;
  return on === IMPERATIVE_INTERCEPTOR ? message : `${on}: ${message}`;
}

const VERBS: ReadonlySet<string> = new Set(['is', 'has', 'to']);

/** The text of a pod's wait without the pod's name as a subject, so that pods that wait for the same say the same. */
function ownText(wait: StoryWait, pod: string): string {
  const name = pod.slice(pod.indexOf('/') + 1);
  const words = textOf(wait).split(' ');
  const isSubject = (word: string, place: number): boolean => word === name && VERBS.has(words[place + 1] ?? '');
  // "Pod web is left to its controller" and "web is left to its controller".
  const isTitle = (word: string, place: number): boolean =>
    word === 'Pod' && isSubject(words[place + 1] ?? '', place + 1);
  return words
    .flatMap((word, place) => (isTitle(word, place) ? [] : isSubject(word, place) ? 'the pod' : word))
    .join(' ');
}

function rowOf({ pod, askedAt, goneAt, waits }: StoryPod, end: number): Row {
  const to = Math.max(askedAt, Math.min(goneAt ?? end, end));
  const spans = waits.flatMap((wait, index): Span[] => {
    const from = Math.min(to, Math.max(askedAt, wait.from));
    const until = Math.min(to, waits[index + 1]?.from ?? to);
    return until > from ? [{ from, to: until, kind: wait.kind, text: ownText(wait, pod) }] : [];
  });
  return { pod, from: askedAt, to, gone: goneAt !== undefined && goneAt <= end, spans };
}

/** Whether a cause says no more than that pods ended by themselves. */
export function isOwnEnd({ text }: Pick<WaitCause, 'text'>): boolean {
  return text === OWN_END;
}

/** How many milliseconds of the union of the spans there are. */
function unionMs(spans: readonly Pick<Span, 'from' | 'to'>[]): number {
  let [sum, until] = [0, -Infinity];
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return sum;
}

function timeSpent(from: number, to: number, rows: readonly Row[]): TimeSpent {
  const clip = rows
    .flatMap(({ spans }) => spans)
    .map((span) => ({ ...span, from: Math.max(from, span.from), to: Math.min(to, span.to) }))
    .filter((span) => span.to > span.from);
  const ending = clip.filter(({ kind }) => kind === 'ending');
  const acted = clip.filter(({ kind }) => kind !== 'waiting');
  const heldMs = to - from;
  const endingMs = unionMs(ending);
  const interceptorMs = unionMs(acted) - endingMs;
  const waitingMs = unionMs(clip) - endingMs - interceptorMs;
  const betweenMs = heldMs - endingMs - interceptorMs - waitingMs;
  return { heldMs, endingMs, interceptorMs, waitingMs, betweenMs, addedMs: waitingMs + betweenMs };
}

/** A cause without the name of the pod that it was said of. */
function causeKey({ kind, text }: Span): string {
  return kind === 'ending' && text === ENDS_BY_ITSELF ? OWN_END : text;
}

function causesOf(rows: readonly Row[]): readonly WaitCause[] {
  const all = rows.flatMap(({ pod, spans }) => spans.map((span) => ({ pod, span })));
  const causes = [...Map.groupBy(all, ({ span }) => causeKey(span))].map(([text, group]): WaitCause => {
    const kind = group[0]?.span.kind ?? 'waiting';
    return { text, kind, pods: new Set(group.map(({ pod }) => pod)).size, ms: unionMs(group.map(({ span }) => span)) };
  });
  return causes.toSorted((a, b) => b.ms - a.ms);
}

/** An entry of a drain plan by its name. */
export function tierText(tier: StoryTier | undefined): string {
  return tier === undefined ? 'Pods' : `${tier.podType}, priority ≤ ${tier.podPriority}`;
}

function tiersOf(pods: readonly StoryPod[], end: number): readonly TierRows[] {
  const groups = [...Map.groupBy(pods, ({ tier }) => tierText(tier))].map(([name, group]): TierRows => {
    const rows = group
      .map((pod) => rowOf(pod, end))
      .toSorted((a, b) => a.from - b.from || a.to - b.to || a.pod.localeCompare(b.pod));
    const [from, to] = [Math.min(...rows.map((row) => row.from)), Math.max(...rows.map((row) => row.to))];
    return { name, from, to, rows };
  });
  return groups.toSorted((a, b) => a.from - b.from || a.to - b.to);
}

function momentsOf(story: ShutdownStory): readonly Moment[] {
  const { events, waits, returned } = story;
  const told = events.map(({ at, what, text }) => ({
    at,
    text: `${WORDS.get(what) ?? what}${text === '' ? '' : `: ${text}`}`,
  }));
  const asked = waits.map((wait) => ({ at: wait.from, text: `waiting for ${textOf(wait)}` }));
  const back = returned.map(({ what, at }) => ({ at, text: `${what} is back in its place` }));
  return [...told, ...asked, ...back].toSorted((a, b) => a.at - b.at);
}

/** What is drawn of a story; `now` in milliseconds since the epoch counts where it is still under way. */
export function timelineOf(story: ShutdownStory, now: number): Timeline {
  const { node, maintenance, origin, reason, begunAt, events, podsLeftOut } = story;
  const to = endOf(story, now);
  const tiers = tiersOf(story.pods, to);
  const rows = tiers.flatMap((tier) => tier.rows);
  const forced = events.find(({ what }) => what === 'force')?.text;
  const released = events.find(({ what }) => what === 'finish' || what === 'force');
  const boot = events.find(({ what }) => what === 'boot');
  return {
    node,
    maintenance,
    origin,
    reason,
    outcome: outcomeOf(story),
    isReleased: released !== undefined,
    from: begunAt,
    to,
    ...(forced === undefined ? {} : { why: forced }),
    spent: timeSpent(begunAt, to, rows),
    causes: causesOf(rows),
    tiers,
    pods: rows.length + podsLeftOut,
    podsLeft: rows.filter(({ gone }) => !gone).length,
    podsLeftOut,
    ...(story.kubeletEnds === undefined ? {} : { kubeletEnds: story.kubeletEnds }),
    ...(story.budgetsNotAsked === undefined ? {} : { budgetsNotAsked: story.budgetsNotAsked }),
    moments: momentsOf(story),
    ...(released === undefined || boot === undefined ? {} : { awayMs: Math.max(0, boot.at - released.at) }),
  };
}
