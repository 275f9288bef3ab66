import assert from 'node:assert/strict';
import type { Machine } from './machine.ts';

/** The part of a report that the journal of the same shutdown knows too. */
interface Report {
  readonly outcome: string;
  readonly began: string;
  readonly ended: string;
  readonly tiers: readonly { readonly pods: readonly { readonly pod: string; readonly gone?: string }[] }[];
}

/** The time of the agent's line about a transition, in milliseconds since the epoch. */
function loggedAt(journal: readonly string[], transition: string): number {
  const line = journal.find((each) => each.includes(` transition=${transition} `)) ?? '';
  // 2026-01-01T12:00:00.123456+0000, as short-iso-precise has it.
  const [, time = '', hours = '', minutes = ''] = /^(\S+)([+-]\d\d):?(\d\d) /.exec(line) ?? [];
  return Date.parse(`${time}${hours}:${minutes}`);
}

/** How long a line takes to the journal on a machine whose processor is emulated. */
const TO_JOURNAL_MS = 5_000;

/** Checks that the report of the last shutdown has the times of its journal. */
export async function assertReport(machine: Machine, journal: readonly string[]): Promise<void> {
  const report = JSON.parse(await machine.must('nodemaint report -o json')) as Report;
  assert.equal(report.outcome, 'drained');
  for (const [mine, logged] of [
    [report.began, loggedAt(journal, 'begin')],
    [report.ended, loggedAt(journal, 'finish')],
  ] as const) {
    assert.ok(Math.abs(Date.parse(mine) - logged) < TO_JOURNAL_MS, `${mine} ${new Date(logged).toISOString()}`);
  }
  // The agent learns of an end from the API server or the runtime, a moment after the pod's own last line.
  const pods = report.tiers.flatMap((tier) => tier.pods);
  assert.ok(pods.length > 0 && pods.every(({ gone }) => gone !== undefined), JSON.stringify(pods));
}
