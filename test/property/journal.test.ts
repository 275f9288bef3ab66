import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { formatStep, type JournalStep, parseJournal } from '../../src/static-pods/journal/journal.ts';

const PLAIN = { noNullPrototype: true };
const file = fc.string({ minLength: 1, maxLength: 40, unit: 'binary' });
const step: fc.Arbitrary<JournalStep> = fc.oneof(
  fc.record(
    {
      op: fc.constant('park' as const),
      file,
      sha256: fc.string({ unit: fc.constantFrom('0', '7', 'a', 'f'), minLength: 64, maxLength: 64 }),
      maintenance: fc.string(),
      at: fc.nat(),
      bootId: fc.uuid(),
    },
    PLAIN,
  ),
  fc.record({ op: fc.constant('restore' as const), file }, PLAIN),
);

describe('the journal', () => {
  it('the journal reads back what was written', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
        assert.deepEqual(parseJournal(steps.map(formatStep).join(''), 'journal'), steps);
      }),
    );
  });

  it('a journal cut at any character is the steps before the cut, and never an error', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), fc.nat(), (steps, seed) => {
        const text = steps.map(formatStep).join('');
        const cut = seed % (text.length + 1);
        const read = parseJournal(text.slice(0, cut), 'journal');
        assert.deepEqual(read, steps.slice(0, read.length));
        const whole = steps.findIndex(
          (_, index) =>
            steps
              .slice(0, index + 1)
              .map(formatStep)
              .join('').length > cut,
        );
        assert.ok(read.length >= (whole === -1 ? steps.length : whole), 'no step that was written whole is dropped');
      }),
      { numRuns: 1_000 },
    );
  });

  it('a journal damaged before its end is an error that names the line', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 4 }), fc.nat(), (steps, seed) => {
        const lines = steps.map(formatStep);
        const first = lines[0] ?? '';
        const at = seed % (first.length - 1);
        const damaged = `${first.slice(0, at)}${first[at] === 'x' ? 'y' : 'x'}${first.slice(at + 1)}${lines.slice(1).join('')}`;
        assert.throws(() => parseJournal(damaged, '/var/lib/nodemaint/journal'), /line 1 of the journal/);
      }),
    );
  });
});
