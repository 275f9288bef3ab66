import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countsOf, type Kind, nextKind, parseTally, type Played, tableOf } from '../../endurance/tally.ts';

const played = (kind: Kind, more: Partial<Played> = {}): Played => ({
  kind,
  at: '2026-01-01T00:00:00Z',
  seconds: 90,
  commit: 'abc',
  ...more,
});
const WANTED = { reboot: 2, 'power cut': 4 };

describe('the tally of reboots and power cuts', () => {
  it('the kind that is furthest behind comes next, a reboot first', () => {
    const order: Kind[] = [];
    const so: Played[] = [];
    for (let kind = nextKind(so, WANTED); kind !== undefined; kind = nextKind(so, WANTED)) {
      order.push(kind);
      so.push(played(kind));
    }
    assert.deepEqual(countsOf(so), WANTED);
    assert.deepEqual(order.slice(0, 4), ['reboot', 'power cut', 'power cut', 'reboot']);
  });

  it('nothing comes next where nothing is wanted', () => {
    assert.equal(nextKind([], { reboot: 0, 'power cut': 0 }), undefined);
  });

  it('a line that was cut off while it was written does not count', () => {
    const text = `${JSON.stringify(played('reboot'))}\n{"kind":"power c`;
    assert.deepEqual(parseTally(text), [played('reboot')]);
    assert.deepEqual(parseTally(''), []);
  });

  it('the table has how many were in order, and how long these took', () => {
    const all = [played('reboot'), played('reboot', { seconds: 110 }), played('power cut', { failure: 'no shell' })];
    assert.equal(
      tableOf(all, WANTED),
      [
        'KIND       PLAYED  IN ORDER  MEDIAN  LONGEST',
        'reboot     2 of 2  2         110 s   110 s',
        'power cut  1 of 4  0         -       -',
      ].join('\n'),
    );
  });
});
