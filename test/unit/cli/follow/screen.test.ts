import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBlock, createNotes, fitFrame } from '../../../../src/cli/follow/screen.ts';
import { recordTerminal } from '../../../support/stand-ins/recorded-terminal.ts';

const lines = (count: number): { text: string; style: 'plain' }[] =>
  Array.from({ length: count }, (_, index) => ({ text: `line ${index + 1}`, style: 'plain' }));

describe('a frame', () => {
  it('a frame counts the lines that are left out', () => {
    const shown = fitFrame(lines(10), undefined, { columns: 80, rows: 5 }).map(({ text }) => text);
    assert.deepEqual(shown, ['line 1', 'line 2', 'line 3', '... and 7 more lines']);
  });

  it('a frame keeps the note in the last line, whatever is left out', () => {
    const shown = fitFrame(lines(10), 'a note\nof others', { columns: 10, rows: 4 }).map(({ text }) => text);
    assert.deepEqual(shown, ['line 1', '... and...', 'a note ...']);
  });

  it('a frame has a line even where the terminal has none', () => {
    assert.equal(fitFrame(lines(2), undefined, { columns: 80, rows: 0 }).length, 1);
  });
});

describe('a block', () => {
  it('a block is redrawn over the lines of the last one', () => {
    const { terminal, output } = recordTerminal('terminal');
    let count = 3;
    const block = createBlock(terminal, () => lines(count));
    block.draw();
    count = 1;
    block.draw();
    block.draw();
    assert.equal(output(), 'line 1\nline 2\nline 3\n\r\u001B[3A\u001B[0Jline 1\n\r\u001B[1A\u001B[0Jline 1\n');
  });
});

describe('notes on a screen without a block', () => {
  it('notes are said once each, and again after they were removed', () => {
    const said: string[] = [];
    const screen = createNotes((text) => said.push(text));
    for (const text of ['a', 'a', 'b', undefined, 'b']) screen.note(text);
    assert.deepEqual(said, ['a', 'b', 'b']);
  });
});
