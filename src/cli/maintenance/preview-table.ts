import type { DrainPreview, Finding, PreviewedPod, PreviewTier } from '../../show/preview/drain-preview.ts';
import { tierName } from '../follow/maintenance/drain-text.ts';
import { printable } from '../../printable.ts';
import { hangingLines } from '../terminal/lines.ts';
import { tableRows } from '../terminal/table.ts';
import { counted } from '../../decide/counted.ts';
import { firstNames } from '../../decide/name-list.ts';
import { formatSpan } from '../../decide/duration.ts';

function findingText({ level, message }: Finding): string {
  return `${level}: ${printable(message)}`;
}

const HEAD = ['POD', 'NAMESPACE', 'PRIORITY', 'GRACE'];
/** At most this many pods of a finding are named; the others are counted. */
const MAX_NAMES = 5;

/** What concerns several pods of a tier, once for all of them: what blocks first, then what has most pods. */
function sharedFindings(pods: readonly PreviewedPod[]): ReadonlyMap<string, readonly PreviewedPod[]> {
  const all = pods.flatMap((pod) => pod.findings.map((finding) => ({ pod, text: findingText(finding) })));
  const groups = [...Map.groupBy(all, ({ text }) => text)].map(
    ([text, group]) => [text, group.map(({ pod }) => pod)] as const,
  );
  // "blocks" and "may block" stand before "note", also by the alphabet.
  const order = (a: (typeof groups)[number], b: (typeof groups)[number]): number =>
    (a[0].split(':', 1)[0] ?? '').localeCompare(b[0].split(':', 1)[0] ?? '') || b[1].length - a[1].length;
  return new Map(groups.filter(([, group]) => group.length > 1).toSorted(order));
}

/** A text in lines, each behind the indent, and from the second one on behind two spaces more. */
function indented(indent: string, text: string, columns: number): readonly string[] {
  return hangingLines({ head: indent, indent: `${indent}  ` }, text, columns, 'plain').map((line) => line.text);
}

/** A tier: what concerns several of its pods, and its pods, each with what concerns only itself. */
function tierText(tier: PreviewTier, number: number, columns: number): readonly string[] {
  const { entry, pods } = tier;
  const shared = sharedFindings(pods);
  // Most pods have none but the built-in one.
  const hasInterceptors = pods.some(({ interceptors }) => interceptors.length > 0);
  const names = hasInterceptors ? ['INTERCEPTORS'] : [];
  const rows = pods.map((pod) => [
    `pod/${pod.name}`,
    pod.namespace,
    String(pod.priority),
    formatSpan(pod.gracePeriodSec * 1000),
    ...(hasInterceptors ? [pod.interceptors.join(', ') || '-'] : []),
  ]);
  const [head = [], ...podRows] = tableRows([[...HEAD, ...names], ...rows], columns - 3);
  const say = (indent: string, text: string): readonly string[] => indented(indent, text, columns);
  return [
    `${number}. ${tierName(entry)}`,
    ...[...shared].flatMap(([text, group]) => {
      const own = group.map(({ name }) => name);
      return say('   ', `${text} (${group.length} pods: ${firstNames(own, MAX_NAMES)})`);
    }),
    ...head.map((line) => `   ${line}`),
    ...podRows.flatMap((lines, index) => [
      ...lines.map((line) => `   ${line}`),
      ...(pods[index]?.findings ?? [])
        .map(findingText)
        .filter((text) => !shared.has(text))
        .flatMap((text) => say('     ', text)),
    ]),
  ];
}

/** What a drain would do, for people: one table for each tier, in the order in which the pods would leave. */
export function formatPreview({ node, tiers, findings, pods, blocked }: DrainPreview, columns: number): string {
  const blockedText = blocked === 0 ? '' : `; ${blocked} of them ${blocked === 1 ? 'is' : 'are'} blocked`;
  const say = (indent: string, text: string): readonly string[] => indented(indent, text, columns);
  const lines = [
    ...say(
      '',
      `node/${node}: ${counted(pods, 'pod', 'pods')} in ${counted(tiers.length, 'tier', 'tiers')}${blockedText}`,
    ),
    ...findings.flatMap((finding) => say('  ', findingText(finding))),
    ...tiers.flatMap((tier, index) => tierText(tier, index + 1, columns)),
  ];
  return `${lines.join('\n')}\n`;
}
