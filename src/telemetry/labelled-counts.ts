import type { Gauge } from 'prom-client';

/** Names come from objects that many users may write: the values with the lowest counts beyond this number are counted together as `OTHERS`. */
const MAX_LABEL_VALUES = 100;
const OTHERS = 'other';

/** Sets a gauge to these counts, by the value of its label. */
export function setCounts(gauge: Gauge, label: string, counts: ReadonlyMap<string, number>): void {
  gauge.reset();
  const ranked = [...counts].toSorted(([, a], [, b]) => b - a);
  for (const [value, count] of ranked.slice(0, MAX_LABEL_VALUES)) gauge.set({ [label]: value }, count);
  const rest = ranked.slice(MAX_LABEL_VALUES).reduce((sum, [, count]) => sum + count, 0);
  if (rest > 0) gauge.set({ [label]: OTHERS }, rest);
}
