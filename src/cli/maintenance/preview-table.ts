import type { DrainPreview, Finding, PreviewedPod } from '../../decide/view/drain-preview.ts';
import { tierName } from '../follow/maintenance/frame.ts';
import { printable } from '../../printable.ts';
import { formatTable } from '../terminal/text.ts';
import { formatSpan } from '../../decide/duration.ts';

function findingText({ level, message }: Finding): string {
  return `${level}: ${printable(message)}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** The grace period, and what a deadline makes of it. */
function graceText({ gracePeriodSec, budget = gracePeriodSec }: PreviewedPod): string {
  const own = formatSpan(gracePeriodSec * 1000);
  return budget === gracePeriodSec ? own : `${own}, shortened to ${formatSpan(budget * 1000)}`;
}

/** What a drain would do, for people: one table for each tier, in the order in which the pods would leave. */
export function formatPreview({ node, tiers, findings, pods, blocked }: DrainPreview): string {
  const blockedText = blocked === 0 ? '' : `; ${blocked} of them ${blocked === 1 ? 'is' : 'are'} blocked`;
  const head = `node/${node}: ${count(pods, 'pod')} in ${count(tiers.length, 'tier')}${blockedText}`;
  const blocks = tiers.map(({ entry, pods: own, dueSec }, index) => {
    const rows = own.map((pod) => [
      `pod/${pod.name}`,
      pod.namespace,
      String(pod.priority),
      graceText(pod),
      pod.interceptors.length === 0 ? '-' : pod.interceptors.join(', '),
    ]);
    const [header = '', ...lines] = formatTable([
      ['POD', 'NAMESPACE', 'PRIORITY', 'GRACE', 'INTERCEPTORS'],
      ...rows,
    ]).split('\n');
    const podLines = lines.flatMap((line, row) => [
      `   ${line}`,
      ...(own[row]?.findings ?? []).map((finding) => `     ${findingText(finding)}`),
    ]);
    const due = dueSec === undefined ? '' : `, after ${formatSpan(dueSec * 1000)} at the latest`;
    return [`${index + 1}. ${tierName(entry)}${due}`, `   ${header}`, ...podLines].join('\n');
  });
  return `${[head, ...findings.map((finding) => `  ${findingText(finding)}`), ...blocks].join('\n')}\n`;
}
