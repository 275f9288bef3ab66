import { counted } from '../../../decide/counted.ts';
import type { DrainPlanEntry } from '../../../api/node-maintenance.ts';
import { firstNames, namesWithin } from '../../../decide/name-list.ts';
import { deadlineIn } from '../../../decide/time.ts';
import { tierText } from '../../../show/story/timeline.ts';
import { type BlockingCause, causeOf, blockingOf } from '../../../show/progress/blocking-causes.ts';
import type { DrainView, NodeView, TierView, LeavingPod } from '../../../show/progress/drain-progress.ts';
import { printable } from '../../../printable.ts';
import { type FrameLine, hangingLines, type LineStyle, wrap, shareBar } from '../../terminal/lines.ts';
import { formatSpan } from '../../../decide/duration.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../../api/names.ts';
import type { ActiveInterceptor, EvictProgress } from '../../../show/progress/eviction-progress.ts';
import { shortMessage } from '../../../decide/interceptor/message.ts';

/** What blocks a pod that is listed by itself, without the number of tries. */
function gist(text: string): string {
  return shortMessage(printable(text));
}

/** Who acts on the pod. The built-in interceptor is the eviction that everybody knows: it has no name here. */
function interceptorText({ name, place, count, message }: ActiveInterceptor, isSaid: boolean): string {
  const said = isSaid ? '' : gist(message);
  if (name === IMPERATIVE_INTERCEPTOR) return said === '' ? 'being evicted' : said.replace(/\.$/, '');
  const order = count > 1 ? ` (${place} of ${count})` : '';
  return `interceptor ${name}${order}${said === '' ? '' : `: ${said}`}`;
}

/** What a pod waits for, as plain text that differs only where something has changed. */
export function podState(pod: Pick<LeavingPod, 'progress' | 'blocking'>): string {
  const { state, message, active, terminatingUntil } = pod.progress;
  const blocking = blockingOf(pod);
  // The message of the active interceptor is shown once, as its own.
  const isShown = blocking === undefined || (blocking.reason === 'Interceptor' && active !== undefined);
  const why = isShown ? '' : `; ${blocking.reason}: ${gist(blocking.message)}`;
  const withGist = (text: string): string => (text === '' ? '' : `: ${gist(text)}`);
  if (terminatingUntil !== undefined) return `terminating${why}`;
  if (state === 'active' && active !== undefined) {
    const isSaid = why !== '' && gist(active.message) !== '' && why.includes(gist(active.message));
    return `${interceptorText(active, isSaid)}${why}`;
  }
  if (isUnrequested(pod)) return `its eviction is not requested yet${why}`;
  return `${state}${withGist(message)}${why}`;
}

/** Whether the pod has no request yet, or its request was deleted and is made again. */
export function isUnrequested({ progress: { state, requesters } }: Pick<LeavingPod, 'progress'>): boolean {
  return state === 'canceled' && requesters.length === 0;
}

/** How long a pod has waited, and how long it may still wait. It stands before the messages, which may be cut. */
function podTimes(progress: EvictProgress, now: number): string {
  const { active, terminatingUntil } = progress;
  const parts: string[] = [];
  if (active !== undefined && terminatingUntil === undefined) parts.push(`for ${formatSpan(now - active.since)}`);
  const until = terminatingUntil ?? active?.expectedAt;
  if (until !== undefined) {
    // A grace period is a limit; what an interceptor says is an estimate.
    const more = `${terminatingUntil === undefined ? 'about' : 'at most'} ${formatSpan(until - now)} more`;
    parts.push(until > now ? more : `${formatSpan(now - until)} late`);
  }
  if (active?.passesOnAt !== undefined && terminatingUntil === undefined && active.passesOnAt - now < 15 * 60_000) {
    parts.push(
      `passes on to ${active.passesTo ?? ''} in ${formatSpan(active.passesOnAt - now)} unless there is a heartbeat`,
    );
  }
  return parts.length === 0 ? '' : `${parts.join(', ')}: `;
}

/** A pod in lines for `columns` characters. */
function podLines(pod: LeavingPod, columns: number, now: number): readonly FrameLine[] {
  const text = `pod/${pod.name} (${pod.namespace})  ${podTimes(pod.progress, now)}${podState(pod)}`;
  return hangingLines({ head: '      ', indent: '        ', most: 3 }, text, columns, 'plain');
}

/** From this width of the terminal on there is room for more. */
const WIDE_FROM = 110;
/** At most this many pods of a tier, and of a cause, are named; the others are counted. */
const MAX_PODS = 8;
const MAX_NAMES = 5;
/** At most this many pods that stay are named; the others are counted. */
const MAX_KEPT = 20;
/** The names of the pods of a cause take at most so many characters, whatever the width. */
const NAMES_WIDTH = 110;
/** The most lines that a sentence may take. */
const MAX_LINES = 6;
/** The width of the bar of a node, in characters. */
const BAR = { narrow: 12, wide: 24 };

/** A selector as kubectl writes it. */
function selectorText({ podSelector }: DrainPlanEntry): string {
  if (podSelector === undefined) return '';
  const labels = Object.entries(podSelector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const expressions = (podSelector.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key;
    return operator === 'DoesNotExist' ? `!${key}` : `${key} ${operator.toLowerCase()} (${values.join(',')})`;
  });
  return ` (${printable([...labels, ...expressions].join(','))})`;
}

/** A tier of a drain plan by its name: "Default, priority ≤ 1000000000 (app=web)". */
export function tierName(entry: DrainPlanEntry): string {
  return `${tierText(entry)}${selectorText(entry)}`;
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
  return printable(namesWithin(shown, NAMES_WIDTH, MAX_NAMES));
}

/** A cause as a sentence; it differs only where the cause or its number of pods has changed. */
export function causeText({ text }: BlockingCause): string {
  return printable(text);
}

function causeLines(cause: BlockingCause, columns: number, now: number): readonly FrameLine[] {
  const since = cause.since === undefined ? '' : ` (for ${formatSpan(now - cause.since)})`;
  const head = { head: '    ! ', most: MAX_LINES };
  return hangingLines(head, `${causeText(cause)}${since}: ${podNames(cause.pods)}`, columns, 'warn');
}

function tierLines(tier: TierView, width: number, columns: number, now: number): readonly FrameLine[] {
  const { entry, state, pods } = tier;
  // Pods that something blocks stand with their cause; of the others those come first that have waited longest.
  const order = pods
    .filter((pod) => causeOf(pod) === undefined)
    .toSorted((a, b) => (a.progress.active?.since ?? now) - (b.progress.active?.since ?? now));
  const [left, blocked] = [pods.length, pods.length - order.length];
  const count = counted(left, 'pod', 'pods');
  const words = {
    done: 'done',
    evicting: `${count} left${blocked === 0 ? '' : blocked === left ? ', blocked' : `, ${blocked} of them blocked`}`,
    waiting: `${count}, not begun`,
  };
  const text = `${tierName(entry).padEnd(width)}  ${words[state]}`;
  const head = hangingLines({ head: `  ${TIER_SIGNS[state]} `, most: MAX_LINES }, text, columns, TIER_STYLES[state]);
  if (state !== 'evicting') return head;
  const shown = order.slice(0, MAX_PODS);
  const more = order.length - shown.length;
  return [
    ...head,
    ...shown.flatMap((pod) => podLines(pod, columns, now)),
    ...(more > 0 ? [{ text: `      and ${more} more`, style: 'dim' } as const] : []),
  ];
}

function finishText({ expectedFinishAt, causes }: NodeView, stage: DrainView['stage'], now: number): string {
  if (stage !== 'Drain') return '';
  if (causes.length > 0 && expectedFinishAt === undefined) return ', blocked';
  if (expectedFinishAt === undefined) return '';
  return expectedFinishAt > now
    ? `, done in about ${formatSpan(expectedFinishAt - now)}`
    : `, ${formatSpan(now - expectedFinishAt)} later than expected`;
}

/** The name of a node and what is said of it, on one line where there is room. */
function nodeHead(name: string, text: string, columns: number, style: LineStyle): readonly FrameLine[] {
  const line = `node/${name}  ${text}`;
  const lines = line.length <= columns ? [line] : [`node/${name}`, `  ${text}`];
  return lines.map((each) => ({ text: each, style }));
}

/** The pods that a drain has left alone, in a sentence's part. */
export function keptText(kept: readonly string[]): string {
  const pods = `${counted(kept.length, 'pod', 'pods')} kept`;
  return `${pods}: ${printable(firstNames(kept, MAX_KEPT))}`;
}

function nodeLines(node: NodeView, stage: DrainView['stage'], columns: number, now: number): readonly FrameLine[] {
  const { name, drained, total, gone, kept, tiers, message, causes, escapedDaemonSets } = node;
  if (drained) {
    const left = kept.length === 0 ? '' : `, ${keptText(kept)}`;
    return nodeHead(name, `drained, ${gone} of ${total} pods gone${left}`, columns, 'good');
  }
  const bar = shareBar(gone, total, columns < WIDE_FROM ? BAR.narrow : BAR.wide);
  const share = `${bar} ${Math.floor((100 * gone) / total)}%, ${gone} of ${total} pods gone`;
  const head = `${total === 0 ? 'no pods to drain' : share}${finishText(node, stage, now)}`;
  const width = Math.max(0, ...tiers.map(({ entry }) => tierName(entry).length));
  const isShown = message !== '' && message !== 'Evacuating';
  const notes = [
    ...(isShown ? [message] : []),
    ...(escapedDaemonSets.length > 0 ? [`DaemonSets that ignore the gate: ${escapedDaemonSets.join(', ')}`] : []),
  ];
  return [
    ...nodeHead(name, head, columns, 'bold'),
    ...causes.flatMap((cause) => causeLines(cause, columns, now)),
    ...tiers.flatMap((tier) => tierLines(tier, Math.min(width, columns / 2), columns, now)),
    ...notes.flatMap((note) => hangingLines({ head: '    ', most: MAX_LINES }, printable(note), columns, 'warn')),
  ];
}

/** What is said where `isTakenUp` is false. */
export const NOT_TAKEN_UP = 'No controller has taken the maintenance up; is nodemaint controller running?';

/** Who asked for a maintenance, in a sentence's part; empty where it is not known. */
export function requesterText({ requestedBy }: Pick<DrainView, 'requestedBy'>): string {
  return requestedBy === undefined ? '' : `, asked for by ${printable(requestedBy)}`;
}

/** The first line of a maintenance: its name, stage, how long, who asked, and why. */
function headLine(view: DrainView, now: number): string {
  const since = view.since === undefined ? '' : ` for ${formatSpan(now - view.since)}`;
  const deadline = view.deadline === undefined ? '' : `, deadline ${deadlineIn(view.deadline.at, now)}`;
  const reason = view.reason === '' ? '' : `: ${printable(view.reason)}`;
  return `nodemaintenance/${view.maintenance}  ${view.stage}${since}${deadline}${requesterText(view)}${reason}`;
}

/** What the status has no room for; nothing where it has everything. */
function leftOutLines({ leftOut, podsBlocking = [] }: DrainView, columns: number): readonly FrameLine[] {
  if (leftOut === undefined) return [];
  const reasons = podsBlocking.map(({ reason, pods }) => `${reason} ${pods}`).join(', ');
  const text = printable(`${leftOut}${reasons === '' ? '' : ` Pods that wait, by reason: ${reasons}.`}`);
  return wrap(text, columns - 2, MAX_LINES).map((line) => ({ text: `  ${line}`, style: 'dim' }));
}

/** A maintenance in lines for `columns` characters; only a name that is too long for it has a longer line. */
export function drainLines(view: DrainView, columns: number, now: number): readonly FrameLine[] {
  const open = view.nodes.filter(({ drained }) => !drained);
  const drained = view.nodes.filter((node) => node.drained);
  return [
    ...hangingLines({ head: '', indent: '  ', most: 3 }, headLine(view, now), columns, 'bold'),
    ...(view.isTakenUp ? [] : hangingLines({ head: '  ! ' }, NOT_TAKEN_UP, columns, 'warn')),
    ...leftOutLines(view, columns),
    ...[...open, ...drained].flatMap((node) => nodeLines(node, view.stage, columns, now)),
  ];
}
