/** What is shown of one pod that has to leave. */
import { IMPERATIVE_INTERCEPTOR } from '../../../api/names.ts';
import { blockingOf } from '../../../show/progress/blocking-causes.ts';
import type { LeavingPod } from '../../../show/progress/drain-progress.ts';
import type { ActiveInterceptor, EvictProgress } from '../../../show/progress/eviction-progress.ts';
import { formatSpan } from '../../../decide/duration.ts';
import { printable } from '../../../printable.ts';
import { type FrameLine, hangingLines } from '../../terminal/paint.ts';
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
export function podLines(pod: LeavingPod, columns: number, now: number): readonly FrameLine[] {
  const text = `pod/${pod.name} (${pod.namespace})  ${podTimes(pod.progress, now)}${podState(pod)}`;
  return hangingLines({ head: '      ', indent: '        ', most: 3 }, text, columns, 'plain');
}
