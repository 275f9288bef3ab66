import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Presence,
  presenceDueMs,
  PRESENCE_EVERY_MS,
  presenceSpreadMs,
  presenceText,
  readPresence,
} from '../../../../src/decide/presence/presence.ts';
import { presenceAt } from '../../../support/agent/presence.ts';

const PRESENCE = presenceAt('2026-01-01T00:00:00Z', {
  doctor: 'fail',
  checks: ['kubelet shutdown'],
  config: '0123456789ab',
  last: { result: 'forced', at: '2025-12-31T23:00:00Z' },
});
const MINUTE = 60_000;

describe('the presence of an agent', () => {
  it('a presence is read as it was written', () => {
    const at = '2026-01-01T01:00:00Z';
    assert.deepEqual(readPresence(presenceText(PRESENCE, at)), { ...PRESENCE, at, everySec: 3600 });
  });

  it('a text that no agent writes is not read', () => {
    const written = presenceText(PRESENCE, '2026-01-01T01:00:00Z');
    const texts = ['', 'x', 'null', '[]', '{}', written.replace('watching', 'dancing'), written.replace('3600', '-1')];
    for (const text of [...texts, written.replace('0.1.0', 'x'.repeat(100)), ' '.repeat(5_000) + written]) {
      assert.equal(readPresence(text), undefined, text.slice(0, 80));
    }
  });

  it('the report of an older agent is read, without what it does not say', () => {
    const { checks: _checks, config: _config, last: _last, ...older } = PRESENCE;
    const at = '2026-01-01T01:00:00Z';
    const read = readPresence(JSON.stringify({ ...older, at, everySec: 3600 }));
    assert.deepEqual(read, { ...older, at, everySec: 3600, checks: [], config: '' });
  });

  it('what is longest is cut, so that every report can be read again', () => {
    const checks = Array.from({ length: 50 }, (_, index) => `${index}${'\u0000'.repeat(100)}`);
    const text = presenceText({ ...PRESENCE, checks, reason: '\u0000'.repeat(5_000) }, '2026-01-01T01:00:00Z');
    assert.ok(text.length <= 4_096, String(text.length));
    assert.equal(readPresence(text)?.checks.length, 8);
  });

  it('words that no agent writes for the checks, the configuration and the last shutdown are left out', () => {
    const at = '2026-01-01T01:00:00Z';
    const strange = { ...PRESENCE, checks: [7, 'x'.repeat(99), 'lock'], config: {}, last: { result: 'exploded', at } };
    const read = readPresence(JSON.stringify({ ...strange, at, everySec: 3600 }));
    assert.deepEqual([read?.checks, read?.config, read?.last], [['lock'], '', undefined]);
  });

  it('another check that fails is a change that is written', () => {
    const other = { ...PRESENCE, checks: ['lock delay'] };
    assert.equal(presenceDueMs({ presence: PRESENCE, at: 0, succeeded: true }, other, 'n', 10_000), 0);
  });

  it('a long reason is cut, so that it can be read again', () => {
    const text = presenceText({ ...PRESENCE, reason: 'é'.repeat(5_000) }, '2026-01-01T01:00:00Z');
    assert.equal(readPresence(text)?.reason.length, 256);
  });

  it('is written at once when it is the first, after ten seconds when it has changed, and else within the hour', () => {
    const due = (presence: Presence, ageMs: number, succeeded = true): number =>
      presenceDueMs({ presence: PRESENCE, at: 1_000_000, succeeded }, presence, 'node-a', 1_000_000 + ageMs);
    assert.equal(presenceDueMs(undefined, PRESENCE, 'node-a', 5), 0);
    const changed = { ...PRESENCE, phase: 'draining' } as const;
    assert.equal(due(changed, 4_000), 6_000);
    assert.equal(due(changed, 10_000), 0);
    const everyMs = PRESENCE_EVERY_MS - presenceSpreadMs('node-a');
    assert.equal(due(PRESENCE, MINUTE), everyMs - MINUTE);
    assert.equal(due(PRESENCE, everyMs), 0);
    assert.equal(due(changed, 10_000, false), 50_000, 'a refused write waits for a minute');
  });

  it('the agents of a fleet write at different times', () => {
    const spreads = Array.from({ length: 1_000 }, (_, number) => presenceSpreadMs(`node-${number}`));
    assert.ok(Math.max(...spreads) < 5 * MINUTE && Math.min(...spreads) >= 0);
    assert.ok(new Set(spreads.map((ms) => Math.floor(ms / 1_000))).size > 50, 'more than one a second');
  });
});
