import type { AuditedCall } from './audit-log.ts';
import type { ProcessFigures } from './process-figures.ts';

/** What the bench of EvictionRequests has measured; times are in seconds, a value for each half of the requests. */
export interface EvictionBench {
  readonly count: number;
  readonly parallel: number;
  /** From the first create to the last active interceptor. */
  readonly ours: readonly [number, number];
  /** From the first create to the answer to the last one. */
  readonly creates: readonly [number, number];
  /** The same writes by a bare client. */
  readonly bare: readonly [number, number];
  /** The controller without pods, with pods but without requests, with half of them, with all. */
  readonly figures: Readonly<Record<'empty' | 'none' | 'half' | 'all', ProcessFigures>>;
  /** What the controller asked of the API server since it was ready. */
  readonly calls: readonly AuditedCall[];
}

function row(name: string, ...values: readonly string[]): string {
  return name.padEnd(56) + values.map((value) => value.padStart(14)).join('');
}

function sum([first, second]: readonly [number, number]): number {
  return first + second;
}

function callRows(calls: readonly AuditedCall[], count: number): string[] {
  const counts = new Map<string, number>();
  for (const { verb, resource, applied, code } of calls) {
    const name = `${applied ? 'apply' : verb} ${resource}${code < 400 ? '' : `, answered ${code}`}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const ranked = [...counts].toSorted(([, a], [, b]) => b - a);
  return [['all', calls.length] as const, ...ranked].map(([name, calls]) =>
    row(`  ${name}`, (calls / count).toFixed(3)),
  );
}

/** The figures as a table. */
export function reportOf({ count, parallel, ours, creates, bare, figures, calls }: EvictionBench): string {
  const { empty, none, half, all } = figures;
  const lists = calls.filter(({ verb }) => verb === 'list').length;
  const memory = (name: string, at: ProcessFigures): string =>
    row(`  ${name}`, at.residentMiB.toFixed(1), at.liveHeapMiB.toFixed(1));
  const growth = (name: string, from: ProcessFigures, to: ProcessFigures, objects: number): string => {
    const bytes = (key: 'residentMiB' | 'liveHeapMiB'): string =>
      (((to[key] - from[key]) * 1024 * 1024) / objects).toFixed(0);
    return row(`  ${name}`, bytes('residentMiB'), bytes('liveHeapMiB'));
  };
  return [
    row(`${count} EvictionRequests, ${parallel} at a time`, 'all', 'first half', 'second half'),
    ...Object.entries({
      '  first create to last active interceptor, s': ours,
      '  first create to last create, s': creates,
      '  the same creates, applies, patches by a bare client, s': bare,
    }).map(([name, halves]) => row(name, ...[sum(halves), ...halves].map((seconds) => seconds.toFixed(1)))),
    row('  ratio', ...[sum(ours) / sum(bare), ours[0] / bare[0], ours[1] / bare[1]].map((ratio) => ratio.toFixed(2))),
    row("  the controller's processor time per request, ms", ((all.cpuMs - none.cpuMs) / count).toFixed(2)),
    row('calls of the controller', 'per request'),
    ...callRows(calls, count),
    row('  lists after the start (0: no more than watches)', String(lists)),
    row('memory of the controller, MiB', 'resident', 'live heap'),
    memory('empty cluster', empty),
    memory(`${count} pods, no request`, none),
    memory(`${count} pods, ${count / 2} requests`, half),
    memory(`${count} pods, ${count} requests`, all),
    row('growth of its memory, bytes', 'resident', 'live heap'),
    growth('per pod', empty, none, count),
    growth('per request, first half', none, half, count / 2),
    growth('per request, second half (linear: as the first)', half, all, count / 2),
  ].join('\n');
}
