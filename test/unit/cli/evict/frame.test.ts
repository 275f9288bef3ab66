import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import {
  createEvictScreen,
  orderLine,
  type PodProgress,
  progressFrame,
  stateLine,
} from '../../../../src/cli/evict/frame.ts';
import { createTerminal, type Terminal } from '../../../../src/cli/terminal/terminal.ts';
import { printable } from '../../../../src/printable.ts';
import {
  A,
  at,
  B,
  ended,
  IMPERATIVE,
  look,
  MINUTE,
  pod,
  request,
  T0,
  underWay,
} from '../../../support/eviction/fixtures.ts';

const SIZE = { columns: 80, rows: 24 };

function frame(pods: readonly PodProgress[], ms: number, size = SIZE, note?: string): readonly string[] {
  return progressFrame(pods, note, size, T0 + ms).map(({ text }) => text);
}

describe('lines of plain text', () => {
  it('a line differs only where something has changed, and not with the time', () => {
    const beating = underWay({ heartbeatTime: at(25 * MINUTE), expectedFinishTime: at(30 * MINUTE) });
    const [one, two] = [26, 29].map((minute) => stateLine(look(beating, pod(), minute * MINUTE)));
    assert.equal(one, two);
    assert.equal(
      one,
      `${A} is active (2 of 3) since 2026-11-21T12:20:00Z; last heartbeat 2026-11-21T12:25:00Z; expected to finish 2026-11-21T12:30:00Z; passes on to ${IMPERATIVE} at 2026-11-21T12:45:00Z unless there is another heartbeat: Half done.`,
    );
    assert.equal(orderLine(look(beating, pod(), 0)), `interceptors: ${B} silent, ${A} active, ${IMPERATIVE} next`);
  });

  it('texts of others stay on their line and do not control the terminal', () => {
    assert.equal(printable(' a\r\nb\u001B[2Jc\u202Ed\u2028e '), 'a b [2Jc d e');
    assert.equal(stateLine(look(ended('Canceled', 'one\ntwo'), pod(), 0)), 'canceled: one two');
  });
});

describe('a block on a terminal', () => {
  it('the interceptors stand in order, the active one with its times', () => {
    const beating = underWay({ heartbeatTime: at(25 * MINUTE), expectedFinishTime: at(30 * MINUTE) });
    const terminating = pod({ deletionTimestamp: at(27 * MINUTE) });
    const lines = frame([{ name: 'web', progress: look(beating, terminating, 26 * MINUTE) }], 26 * MINUTE);
    const shown = lines.map((line) => line.replaceAll(/\d\d:\d\d:\d\d/g, 'CLOCK'));
    assert.deepEqual(shown, [
      'pod/web  active, terminating, grace period ends in 1m0s (CLOCK)',
      '  requested by cli.nodemaintenance.x-k8s.io',
      `  silent  ${B}`,
      `> active  ${A}`,
      '          Half done.',
      '          for 6m0s, heartbeat 1m0s ago, expected to finish in 4m0s (CLOCK)',
      '          passes on in 19m0s (CLOCK) unless there is a heartbeat',
      `  next    ${IMPERATIVE}`,
    ]);
  });

  it('no line is wider and no block higher than the terminal', () => {
    const long = { message: `${'word '.repeat(100)}${'x'.repeat(200)}` };
    const pods = ['a', 'b', 'c'].map((name) => ({ name, progress: look(underWay(long), pod(), 21 * MINUTE) }));
    for (const columns of [20, 40, 200]) {
      const lines = frame(pods, 21 * MINUTE, { columns, rows: 12 }, 'The connection is lost.');
      assert.ok(
        lines.every((line) => line.length <= columns),
        lines.join('\n'),
      );
      assert.equal(lines.length, 11);
      assert.match(lines.at(-2) ?? '', /^\.\.\. and \d+ more/);
      assert.match(lines.at(-1) ?? '', /^The connection/);
    }
  });

  it('a pod that is over is a line below those that go on', () => {
    const over = { name: 'a', progress: look(ended('Evicted', 'Gone.'), undefined, 0) };
    const going = { name: 'b', progress: look(request(), pod(), 0) };
    const lines = frame([over, going], 0);
    assert.match(lines[0] ?? '', /^pod\/b {2}requested/);
    assert.equal(lines.at(-1), 'pod/a  evicted: Gone.');
  });

  it('a block is redrawn in place, in colours where there are some; elsewhere each change is a line', () => {
    let text = '';
    const terminal = (isTTY: boolean, colours: boolean): Terminal => {
      const write = (more: string): void => void (text += more);
      const output = { write, isTTY, hasColors: () => colours, ...SIZE };
      const { signal } = new AbortController();
      return createTerminal({ output, errors: { write: () => undefined }, now: () => T0, stop: signal, signal });
    };
    const going = look(underWay(), pod(), 0);
    const over = look(ended('Evicted', 'Gone.'), undefined, 0);
    const block = createEvictScreen(terminal(true, true), false);
    block.changed('web', going);
    block.draw();
    const height = text.split('\n').length - 1;
    block.changed('web', over);
    block.draw();
    assert.ok(text.includes(`\r\u001B[${height}A\u001B[0J`), 'back to the first line');
    assert.equal(stripVTControlCharacters(text.split('\u001B[0J')[1] ?? ''), 'pod/web  evicted: Gone.\n');
    assert.ok(text.endsWith('\u001B[32mpod/web  evicted: Gone.\u001B[39m\n'), 'green');
    text = '';
    const lines = createEvictScreen(terminal(false, false), false);
    for (const progress of [going, going, over, over]) lines.changed('web', progress);
    assert.equal(text.split('\n').length - 1, 3, 'interceptors, turn, end');
    assert.match(text, /^2026-11-21T12:00:00Z pod\/web interceptors/);
  });
});
