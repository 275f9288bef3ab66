import type { BlockingPod, DrainPlanEntry } from '../../../api/node-maintenance.ts';
import type { DrainView, LeavingPod, NodeView, TierView } from '../../../decide/view/drain-progress.ts';
import type { EvictProgress } from '../../../decide/view/eviction-progress.ts';
import { printable } from '../../../printable.ts';
import type { FrameLine, FrameSize, LineStyle } from '../../terminal/paint.ts';
import { progressBar } from '../../terminal/progress-bar.ts';
import { formatSpan } from '../../terminal/text.ts';
import { fitFrame } from '../screen.ts';

/** At most this many pods of a tier are shown; the others are counted. */
const MAX_PODS = 8;

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
  return `${entry.podType}, priority ≤ ${entry.podPriority}${selectorText(entry)}`;
}

/** The reasons that block a terminating pod; the status may still have another from before it was terminating. */
const ENDING_REASONS: readonly BlockingPod['reason'][] = ['Finalizer', 'NodeUnreachable', 'NotEnding'];

/** A message without the number of retries, which changes with every attempt. */
function gist(message: string): string {
  return printable(message).replace(/^.*number of retries: \d+\. /, '');
}

/** What a pod waits for, as plain text that differs only where something has changed. */
export function podState({ progress, blocking }: LeavingPod): string {
  const { state, message, turn, terminatingUntil, requesters } = progress;
  const isEnding = terminatingUntil !== undefined;
  // The message of the active interceptor is shown once, as its own.
  const isShown =
    blocking === undefined ||
    (isEnding ? !ENDING_REASONS.includes(blocking.reason) : blocking.reason === 'Interceptor' && turn !== undefined);
  const why = isShown ? '' : `; ${blocking.reason}: ${gist(blocking.message)}`;
  const withGist = (text: string): string => (text === '' ? '' : `: ${gist(text)}`);
  if (isEnding) return `terminating${why}`;
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

function tierLines(tier: TierView, width: number, now: number): readonly FrameLine[] {
  const { entry, state, total, gone } = tier;
  const name = `  ${TIER_SIGNS[state]} ${tierName(entry).padEnd(width)}  ${progressBar(gone, total, 'blocks')}`;
  const head: FrameLine = { text: name, style: TIER_STYLES[state] };
  if (state !== 'evicting') return [head];
  // Blocking pods come first, then those that have waited longest.
  const order = tier.pods.toSorted(
    (a, b) =>
      Number(a.blocking === undefined) - Number(b.blocking === undefined) ||
      (a.progress.turn?.since ?? now) - (b.progress.turn?.since ?? now),
  );
  const lines = order.slice(0, MAX_PODS).map((pod): FrameLine => {
    const text = `      pod/${pod.name} (${pod.namespace})  ${podTimes(pod.progress, now)}${podState(pod)}`;
    return { text, style: pod.blocking === undefined ? 'plain' : 'warn' };
  });
  const more = order.length - lines.length;
  return [head, ...lines, ...(more > 0 ? [{ text: `      and ${more} more`, style: 'dim' } as const] : [])];
}

function nodeLines(node: NodeView, stage: DrainView['stage'], now: number): readonly FrameLine[] {
  const { name, drained, total, gone, expectedFinishAt, tiers, message, escapedDaemonSets } = node;
  if (drained) return [{ text: `node/${name}  drained, ${gone} of ${total} pods gone`, style: 'good' }];
  const left =
    expectedFinishAt === undefined || stage !== 'Drain'
      ? ''
      : expectedFinishAt > now
        ? `, done in about ${formatSpan(expectedFinishAt - now)}`
        : `, ${formatSpan(now - expectedFinishAt)} later than expected`;
  const percent = total === 0 ? 100 : Math.floor((100 * gone) / total);
  const head = `node/${name}  ${percent}%, ${gone} of ${total} pods gone${left}`;
  const width = Math.max(0, ...tiers.map(({ entry }) => tierName(entry).length));
  const isShown = message !== '' && message !== 'Evacuating';
  return [
    { text: head, style: 'bold' },
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

/** A whole maintenance, in lines of any length. */
export function drainLines(view: DrainView, now: number): readonly FrameLine[] {
  const open = view.nodes.filter(({ drained }) => !drained);
  const drained = view.nodes.filter((node) => node.drained);
  return [
    { text: headLine(view, now), style: 'bold' },
    ...[...open, ...drained].flatMap((node) => nodeLines(node, view.stage, now)),
  ];
}

/** A maintenance as a block for a terminal of this size; `note` is a last line, such as a lost connection. */
export function drainFrame(
  view: DrainView | undefined,
  note: string | undefined,
  size: FrameSize,
  now: number,
): readonly FrameLine[] {
  return fitFrame(view === undefined ? [] : drainLines(view, now), note, size);
}
