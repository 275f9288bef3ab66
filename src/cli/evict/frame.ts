import {
  type ActiveInterceptor,
  type EvictProgress,
  type InterceptorView,
  isOver,
} from '../../show/progress/eviction-progress.ts';
import { rfc3339 } from '../../decide/time.ts';
import { printable } from '../../printable.ts';
import { type FrameSize, type FrameLine, type LineStyle, wrap } from '../terminal/paint.ts';
import { createBlock, createNotes, fitFrame, type FollowScreen, writeTimedLine } from '../follow/screen.ts';
import { formatSpan } from '../../decide/duration.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** A pod and how far its eviction is. */
export interface PodProgress {
  readonly name: string;
  readonly progress: EvictProgress;
}

const INDENT = '          ';
const MAX_MESSAGE_LINES = 3;

function withMessage(text: string, message: string): string {
  const words = printable(message);
  return words === '' ? text : `${text}: ${words}`;
}

function activeParts(active: ActiveInterceptor): string {
  const { since, heartbeatAt, expectedAt, passesOnAt, passesTo } = active;
  const parts = [
    `${active.name} is ${active.blocked ? 'blocked' : 'active'} (${active.place} of ${active.count}) since ${rfc3339(since)}`,
    heartbeatAt === undefined ? 'no heartbeat yet' : `last heartbeat ${rfc3339(heartbeatAt)}`,
    expectedAt === undefined ? 'no estimate' : `expected to finish ${rfc3339(expectedAt)}`,
    passesOnAt === undefined || passesTo === undefined
      ? 'the last interceptor'
      : `passes on to ${passesTo} at ${rfc3339(passesOnAt)} unless there is another heartbeat`,
  ];
  return parts.join('; ');
}

/** All interceptors in order, each with its state, as plain text; empty where there are none to wait for. */
export function orderLine(progress: EvictProgress): string {
  const { interceptors } = progress;
  if (interceptors.length === 0 || isOver(progress)) return '';
  return `interceptors: ${interceptors.map(({ name, state }) => `${name} ${state}`).join(', ')}`;
}

/** How far an eviction is, as one line of plain text that differs only where something has changed. */
export function stateLine(progress: EvictProgress): string {
  const { state, message, active, terminatingUntil, requesters } = progress;
  const ending = terminatingUntil === undefined ? '' : `; the pod is terminating, until ${rfc3339(terminatingUntil)}`;
  switch (state) {
    case 'requested':
      return withMessage(`eviction requested by ${requesters.join(', ')}${ending}`, message);
    case 'active':
      return active === undefined ? `active${ending}` : withMessage(`${activeParts(active)}${ending}`, active.message);
    case 'abandoned':
      return withMessage(`stuck${ending}`, message);
    case 'gone':
    case 'evicted':
    case 'canceled':
      return withMessage(state, message);
  }
}

/** A time of day of this machine's zone; `ms` since the epoch. */
function clockTime(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8);
}

function ahead(at: number, now: number): string {
  return at > now ? `in ${formatSpan(at - now)} (${clockTime(at)})` : `${formatSpan(now - at)} ago (${clockTime(at)})`;
}

function activeLines(active: ActiveInterceptor, now: number): readonly string[] {
  const { since, heartbeatAt, expectedAt, passesOnAt, passesTo } = active;
  const heartbeat = heartbeatAt === undefined ? 'no heartbeat yet' : `heartbeat ${formatSpan(now - heartbeatAt)} ago`;
  const expected = expectedAt === undefined ? 'no estimate' : `expected to finish ${ahead(expectedAt, now)}`;
  const passes =
    passesOnAt === undefined || passesTo === undefined
      ? 'the last interceptor: it passes on to none'
      : `passes on ${ahead(passesOnAt, now)} unless there is a heartbeat`;
  return [`for ${formatSpan(now - since)}, ${heartbeat}, ${expected}`, passes];
}

const STATE_STYLES = {
  done: 'good',
  silent: 'warn',
  active: 'bold',
  blocked: 'warn',
  next: 'dim',
} as const satisfies Record<InterceptorView['state'], LineStyle>;

function interceptorLines(
  view: InterceptorView,
  active: ActiveInterceptor | undefined,
  size: FrameSize,
  now: number,
): FrameLine[] {
  const style = STATE_STYLES[view.state];
  const isActive = active?.name === view.name;
  const head = `${isActive ? '>' : ' '} ${view.state.padEnd(7)} ${view.name}`;
  const message = printable(view.message);
  const width = Math.max(20, size.columns - INDENT.length);
  const messageLines = message === '' ? [] : wrap(message, width, isActive ? MAX_MESSAGE_LINES : 1);
  const details = isActive ? activeLines(active, now).flatMap((line) => wrap(line, width, 2)) : [];
  return [
    { text: head, style },
    ...[...messageLines, ...details].map(
      (text): FrameLine => ({ text: INDENT + text, style: isActive && view.state === 'blocked' ? 'warn' : 'plain' }),
    ),
  ];
}

function podLines({ name, progress }: PodProgress, size: FrameSize, now: number): FrameLine[] {
  const { state, message, interceptors, active, terminatingUntil, requesters } = progress;
  const ending =
    terminatingUntil === undefined
      ? ''
      : `, terminating, grace period ${terminatingUntil > now ? 'ends' : 'ended'} ${ahead(terminatingUntil, now)}`;
  if (isOver(progress)) {
    return [{ text: withMessage(`pod/${name}  ${state}`, message), style: state === 'canceled' ? 'bad' : 'good' }];
  }
  const stuck: FrameLine[] = state === 'active' ? [] : [{ text: `  ${printable(message)}`, style: 'warn' }];
  return [
    { text: `pod/${name}  ${active?.blocked === true ? 'blocked' : state}${ending}`, style: 'bold' },
    { text: `  requested by ${requesters.join(', ')}`, style: 'dim' },
    ...stuck,
    ...interceptors.flatMap((view) => interceptorLines(view, active, size, now)),
  ];
}

/**
 * All evictions as a block for a terminal of this size: first those under way, then those that are over with one line each.
 * `note` is the last line, such as a lost connection.
 */
export function progressFrame(
  pods: readonly PodProgress[],
  note: string | undefined,
  size: FrameSize,
  now: number,
): readonly FrameLine[] {
  const over = pods.filter(({ progress }) => isOver(progress));
  const going = pods.filter(({ progress }) => !isOver(progress));
  const lines = [...going, ...over].flatMap((pod) => podLines(pod, size, now));
  return fitFrame(lines, note, size);
}

/** Shows evictions as they go on. */
export interface EvictScreen extends FollowScreen {
  /** Takes the progress of a pod; writes what is new of it at once where there is no block to redraw. */
  changed(name: string, progress: EvictProgress): void;
}

/** A line for each change, with the time. */
function createLineScreen(terminal: Terminal): EvictScreen {
  const last = new Map<string, string>();
  const say = (key: string, pod: string, text: string): void => {
    if (text === '' || last.get(key) === text) return;
    last.set(key, text);
    writeTimedLine(terminal, `pod/${pod} ${text}`);
  };
  return {
    ...createNotes((text) => {
      writeTimedLine(terminal, text);
    }),
    changed: (name, progress) => {
      say(`order ${name}`, name, orderLine(progress));
      say(`state ${name}`, name, stateLine(progress));
    },
  };
}

/** A block that is redrawn in place. */
function createBlockScreen(terminal: Terminal): EvictScreen {
  const pods = new Map<string, PodProgress>();
  return {
    ...createBlock(terminal, (note, size, now) => progressFrame([...pods.values()], note, size, now)),
    changed: (name, progress) => {
      pods.set(name, { name, progress });
    },
  };
}

/** Shows nothing: the objects are printed at the end. */
function createSilentScreen(): EvictScreen {
  return { changed: () => undefined, note: () => undefined, draw: () => undefined };
}

/** Makes the screen that fits the output: a block on a terminal, lines elsewhere, nothing before JSON or YAML. */
export function createEvictScreen(terminal: Terminal, silent: boolean): EvictScreen {
  if (silent) return createSilentScreen();
  return terminal.isTerminal ? createBlockScreen(terminal) : createLineScreen(terminal);
}
