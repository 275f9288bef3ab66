import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concludeFollow } from '../../../../../src/cli/follow/maintenance/follow.ts';
import type { DrainWatchResult } from '../../../../../src/cli/follow/maintenance/watch.ts';
import type { OutputFormat } from '../../../../../src/cli/terminal/terminal.ts';
import type { DrainView, NodeView } from '../../../../../src/show/progress/drain-progress.ts';
import { recordTerminal } from '../../../../support/stand-ins/recorded-terminal.ts';

function node(name: string, drained: boolean): NodeView {
  const lists = { tiers: [], kept: [], causes: [], escapedDaemonSets: [] };
  return { name, drained, message: '', total: 1, gone: drained ? 1 : 0, ...lists };
}

function view(nodes: readonly NodeView[]): DrainView {
  const drained = nodes.every((each) => each.drained);
  return { maintenance: 'm', stage: 'Drain', reason: '', drained, isTakenUp: true, message: '', nodes };
}

function conclude(result: DrainWatchResult, output: OutputFormat = 'table'): readonly [number, string, string] {
  const recorded = recordTerminal('pipe');
  const code = concludeFollow(result, 'm', { output, context: 'my cluster' }, recorded.terminal);
  return [code, recorded.output(), recorded.errors()];
}

const OPEN = view([node('a', true), node('b', false)]);
const DRAINED = view([node('a', true)]);
const END = "nodemaint complete nm/m --context 'my cluster'";
const ADVICE = `Watch it with:  nodemaint status nm/m --watch --context 'my cluster'\nEnd it with:  ${END}\n`;

describe('a followed maintenance', () => {
  it('a followed maintenance that is drained ends with 0 and the command that ends it', () => {
    assert.deepEqual(conclude({ ending: 'drained', view: DRAINED }), [0, `End the maintenance with:  ${END}\n`, '']);
  });

  it('a followed maintenance that is drained adds no sentence to JSON and YAML', () => {
    assert.deepEqual(conclude({ ending: 'drained', view: DRAINED }, 'json'), [0, '', '']);
  });

  it('a followed maintenance that was completed with drained nodes ends with 0', () => {
    assert.deepEqual(conclude({ ending: 'completed', view: DRAINED }), [0, '', '']);
  });

  for (const ending of ['completed', 'deleted'] as const) {
    it(`a followed maintenance that was ${ending} before its nodes were drained ends with 1 and names them`, () => {
      const message = `nodemaint: nodemaintenance/m was ${ending}; not drained yet: node/b\n`;
      assert.deepEqual(conclude({ ending, view: OPEN }), [1, '', message]);
    });
  }

  it('a followed maintenance that was deleted before anything was seen of it ends with 1', () => {
    assert.deepEqual(conclude({ ending: 'deleted' }), [1, '', 'nodemaint: nodemaintenance/m was deleted\n']);
  });

  for (const [ending, code, why] of [
    ['timeout', 3, 'the --timeout is over'],
    ['interrupted', 1, 'interrupted'],
  ] as const) {
    it(`a followed maintenance ends with ${code} after ${ending}, and says how to go on`, () => {
      const message = `nodemaint: ${why}; the maintenance goes on without this command; not drained yet: node/b\n`;
      assert.deepEqual(conclude({ ending, view: OPEN }), [code, '', message + ADVICE]);
    });
  }
});
