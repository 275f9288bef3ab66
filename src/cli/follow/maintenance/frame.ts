import type { DrainPlanEntry } from '../../../api/node-maintenance.ts';
import { firstNames } from '../../../decide/names.ts';
import { tierText } from '../../../decide/story/timeline.ts';
import { type BlockingCause, blockingOf, causeOf, gistOf } from '../../../decide/view/blocking-causes.ts';
import type { DrainView, LeavingPod, NodeView, TierView } from '../../../decide/view/drain-progress.ts';
import type { EvictProgress } from '../../../decide/view/eviction-progress.ts';
import { printable } from '../../../printable.ts';
import { type FrameLine, type FrameSize, type LineStyle, wrap } from '../../terminal/paint.ts';
import { shareBar } from '../../terminal/progress-bar.ts';
import { formatSpan } from '../../../decide/duration.ts';
import { fitFrame } from '../screen.ts';

/** At most this many pods of a tier, and of a cause, are named; the others are counted. */
const MAX_PODS = 8;
const MAX_NAMES = 5;
/** The most lines that a cause may take. */
const MAX_CAUSE_LINES = 6;
/** The width of the bar of a node, in characters, and from which width of the terminal on. */
const BAR = { short: 12, long: 24, from: 110 };

/** A selector as kubectl writes it. */
function selectorText({ podSelector }: DrainPlanEntry): string {
  if (podSelector === undefined) return '';
  const labels = Object.entries(podSelector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const expressions = (podSelector.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    switch (operator) {
      case 'In':
        return `${key} in (${values.join(',')})`;
      case 'NotIn':
        return `${key} notin (${values.join(',')})`;
      case 'Exists':
        return key;
      default:
        return `!${key}`;
    }
  });
  return ` (${printable([...labels, ...expressions].join(','))})`;
}

/** A tier of a drain plan by its name: "Default, priority ≤ 1000000000 (app=web)". */
export function tierName(entry: DrainPlanEntry): string {
  return `${tierText(entry)}${selectorText(entry)}`;
}

/** What a pod waits for, as plain text that differs only where something has changed. */
export function podState(pod: LeavingPod): string {
  const { state, message, turn, terminatingUntil, requesters } = pod.progress;
  const blocking = blockingOf(pod);
  // The message of the active interceptor is shown once, as its own.
  const isShown = blocking === undefined || (blocking.reason === 'Interceptor' && turn !== undefined);
  const gist = (text: string): string => gistOf(printable(text));
  const why = isShown ? '' : `; ${blocking.reason}: ${gist(blocking.message)}`;
  const withGist = (text: string): string => (text === '' ? '' : `: ${gist(text)}`);
  if (terminatingUntil !== undefined) return `terminating${why}`;
  if (state === 'active' && turn !== undefined) {
    const place = turn.count > 1 ? ` (${turn.place} of ${turn.count})` : '';
    const isSaid = why !== '' && gist(turn.message) !== '' && why.includes(gist(turn.message));
    return `${turn.name}${place}${isSaid ? '' : withGist(turn.message)}${why}`;
  }
  if (state === 'canceled' && requesters.length === 0) return `eviction not requested yet${why}`;
  return `${state}${withGist(message)}${why}`;
}

/** How long a pod has waited, and how long it may still wait. It stands before the messages, which may be cut. */
function podTimes(progress: EvictProgress, now: number): string {
  const { turn, terminatingUntil } = progress;
  const parts: string[] = [];
  if (turn !== undefined && terminatingUntil === undefined) parts.push(`for ${formatSpan(now - turn.since)}`);
  const until = terminatingUntil ?? turn?.expectedAt;
  if (until !== undefined) {
    parts.push(until > now ? `at most ${formatSpan(until - now)} more` : `${formatSpan(now - until)} late`);
  }
  if (turn?.passesOnAt !== undefined && terminatingUntil === undefined && turn.passesOnAt - now < 15 * 60_000) {
    parts.push(
      `passes on to ${turn.passesTo ?? ''} in ${formatSpan(turn.passesOnAt - now)} unless there is a heartbeat`,
    );
  }
  return parts.length === 0 ? '' : `${parts.join(', ')}: `;
}

const TIER_STYLES = { done: 'good', evicting: 'bold', waiting: 'dim' } as const satisfies Record<
  TierView['state'],
  LineStyle
>;
const TIER_SIGNS = { done: '+', evicting: '>', waiting: ' ' } as const satisfies Record<TierView['state'], string>;

/** Names of pods, NAMESPACE/NAME, without a namespace that stands before them already. */
function podNames(pods: readonly string[]): string {
  const shown = pods.map((key, index) => {
    const [namespace = '', name = ''] = key.split('/', 2);
    return index > 0 && pods[index - 1]?.startsWith(`${namespace}/`) === true ? name : key;
  });
  return printable(firstNames(shown, MAX_NAMES));
}

/** A cause as a sentence; it differs only where the cause or its number of pods has changed. */
export function causeText({ text }: BlockingCause): string {
  return printable(text);
}

function causeLines(cause: BlockingCause, columns: number, now: number): readonly FrameLine[] {
  const since = cause.since === undefined ? '' : `, for ${formatSpan(now - cause.since)}`;
  const text = `${causeText(cause)}${since}: ${podNames(cause.pods)}`;
  const [first = '', ...rest] = wrap(text, columns - 8, MAX_CAUSE_LINES);
  return [`    ! ${first}`, ...rest.map((line) => `      ${line}`)].map((line) => ({ text: line, style: 'warn' }));
}

function tierLines(tier: TierView, width: number, now: number): readonly FrameLine[] {
  const { entry, state } = tier;
  const left = tier.pods.length;
  const count = left === 0 ? 'done' : `${left} ${left === 1 ? 'pod' : 'pods'} left`;
  const name = `  ${TIER_SIGNS[state]} ${tierName(entry).padEnd(width)}  ${count}`;
  const head: FrameLine = { text: name, style: TIER_STYLES[state] };
  if (state !== 'evicting') return [head];
  // Pods that something blocks stand with their cause; of the others those come first that have waited longest.
  const order = tier.pods
    .filter((pod) => causeOf(pod) === undefined)
    .toSorted((a, b) => (a.progress.turn?.since ?? now) - (b.progress.turn?.since ?? now));
  const lines = order.slice(0, MAX_PODS).map((pod): FrameLine => {
    const text = `      pod/${pod.name} (${pod.namespace})  ${podTimes(pod.progress, now)}${podState(pod)}`;
    return { text, style: 'plain' };
  });
  const more = order.length - lines.length;
  return [head, ...lines, ...(more > 0 ? [{ text: `      and ${more} more`, style: 'dim' } as const] : [])];
}

function finishText({ expectedFinishAt, causes }: NodeView, stage: DrainView['stage'], now: number): string {
  if (stage !== 'Drain') return '';
  if (causes.length > 0 && expectedFinishAt === undefined) return ', blocked';
  if (expectedFinishAt === undefined) return '';
  return expectedFinishAt > now
    ? `, done in about ${formatSpan(expectedFinishAt - now)}`
    : `, ${formatSpan(now - expectedFinishAt)} later than expected`;
}

function nodeLines(node: NodeView, stage: DrainView['stage'], columns: number, now: number): readonly FrameLine[] {
  const { name, drained, total, gone, tiers, message, causes, escapedDaemonSets } = node;
  if (drained) return [{ text: `node/${name}  drained, ${gone} of ${total} pods gone`, style: 'good' }];
  const percent = total === 0 ? 100 : Math.floor((100 * gone) / total);
  const bar = shareBar(gone, total, columns < BAR.from ? BAR.short : BAR.long, 'blocks');
  const head = `node/${name}  ${bar} ${percent}%, ${gone} of ${total} pods gone${finishText(node, stage, now)}`;
  const width = Math.max(0, ...tiers.map(({ entry }) => tierName(entry).length));
  const isShown = message !== '' && message !== 'Evacuating';
  return [
    { text: head, style: 'bold' },
    ...causes.flatMap((cause) => causeLines(cause, columns, now)),
    ...tiers.flatMap((tier) => tierLines(tier, width, now)),
    ...(isShown ? [{ text: `    ${printable(message)}`, style: 'warn' } as const] : []),
    ...(escapedDaemonSets.length > 0
      ? [{ text: `    DaemonSets that ignore the gate: ${escapedDaemonSets.join(', ')}`, style: 'warn' } as const]
      : []),
  ];
}

/** The first line of a maintenance: its name, stage, how long, and why. */
export function headLine(view: DrainView, now: number): string {
  const since = view.since === undefined ? '' : ` for ${formatSpan(now - view.since)}`;
  const reason = view.reason === '' ? '' : `: ${printable(view.reason)}`;
  return `nodemaintenance/${view.maintenance}  ${view.stage}${since}${reason}`;
}

/** What the status has no room for; nothing where it has everything. */
function leftOutLines({ leftOut, podsBlocking = [] }: DrainView, columns: number): readonly FrameLine[] {
  if (leftOut === undefined) return [];
  const reasons = podsBlocking.map(({ reason, pods }) => `${reason} ${pods}`).join(', ');
  const text = printable(`${leftOut}${reasons === '' ? '' : ` Pods that wait, by reason: ${reasons}.`}`);
  return wrap(text, columns - 2, MAX_CAUSE_LINES).map((line) => ({ text: `  ${line}`, style: 'dim' }));
}

/** A maintenance in lines for `columns` characters; only names that are too long for it are longer. */
export function drainLines(view: DrainView, columns: number, now: number): readonly FrameLine[] {
  const open = view.nodes.filter(({ drained }) => !drained);
  const drained = view.nodes.filter((node) => node.drained);
  return [
    { text: headLine(view, now), style: 'bold' },
    ...leftOutLines(view, columns),
    ...[...open, ...drained].flatMap((node) => nodeLines(node, view.stage, columns, now)),
  ];
}

/** A maintenance as a block for a terminal of this size; `note` is a last line, such as a lost connection. */
export function drainFrame(
  view: DrainView | undefined,
  note: string | undefined,
  size: FrameSize,
  now: number,
): readonly FrameLine[] {
  return fitFrame(view === undefined ? [] : drainLines(view, size.columns, now), note, size);
}
