import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../../src/api/node-maintenance.ts';
import { concludeFollow } from '../../../../../src/cli/follow/maintenance/follow.ts';
import type { DrainWatchResult } from '../../../../../src/cli/follow/maintenance/watch.ts';
import type { OutputFormat } from '../../../../../src/cli/terminal/terminal.ts';
import type { DrainView, NodeView } from '../../../../../src/show/progress/drain-progress.ts';
import { drainOf, ownMaintenanceOf } from '../../../../support/maintenance/objects.ts';
import { recordTerminal } from '../../../../support/stand-ins/recorded-terminal.ts';

function node(name: string, drained: boolean): NodeView {
  const lists = { tiers: [], kept: [], causes: [], escapedDaemonSets: [] };
  return { name, drained, message: '', total: 1, gone: drained ? 1 : 0, ...lists };
}

function view(nodes: readonly NodeView[]): DrainView {
  const drained = nodes.every((each) => each.drained);
  return { maintenance: 'm', stage: 'Drain', reason: '', drained, isTakenUp: true, message: '', nodes };
}

/** The exit code of a watch that ended so, and what it wrote. */
function conclude(
  ending: DrainWatchResult['ending'],
  { output = 'table', own, ...more }: { output?: OutputFormat; own?: NodeMaintenance; view?: DrainView } = {},
): readonly [number, string, string] {
  const recorded = recordTerminal('pipe');
  const followed = { maintenance: own ?? drainOf('m', ['n']), ending, ...more };
  const code = concludeFollow(followed, { output, context: 'my cluster' }, recorded.terminal);
  return [code, recorded.output(), recorded.errors()];
}

const OPEN = view([node('a', true), node('b', false)]);
const DRAINED = view([node('a', true)]);
const WATCH = "nodemaint status nm/m --watch --context 'my cluster'";
const END = "End the maintenance with:  nodemaint complete nm/m --context 'my cluster'\n";
const LEFT = '; not drained yet: node/b\n';
const GOES_ON = `; the maintenance goes on without this command${LEFT}Watch it with:  ${WATCH}\n${END}`;

describe('a followed maintenance', () => {
  it('it ends with 0 where its nodes are drained, and only people read which command ends it', () => {
    assert.deepEqual(conclude('drained', { view: DRAINED }), [0, END, '']);
    assert.deepEqual(conclude('drained', { view: DRAINED, output: 'json' }), [0, '', '']);
    assert.deepEqual(conclude('completed', { view: DRAINED }), [0, '', '']);
  });

  it('that of a shutdown is ended by its agent, for completing it lets the machine go down', () => {
    const told = 'The agent of node/n ends the maintenance, unless its key onBoot is wait\n';
    assert.deepEqual(conclude('drained', { view: DRAINED, own: ownMaintenanceOf('n') }), [0, told, '']);
    const [, , errors] = conclude('interrupted', { view: OPEN, own: ownMaintenanceOf('n') });
    assert.ok(errors.endsWith(`'my cluster'\n${told}`), errors);
  });

  for (const [ending, code, says] of [
    ['completed', 1, `nodemaintenance/m was completed${LEFT}`],
    ['deleted', 1, `nodemaintenance/m was deleted${LEFT}`],
    ['timeout', 3, `the --timeout is over${GOES_ON}`],
    ['interrupted', 1, `interrupted${GOES_ON}`],
  ] as const) {
    it(`it ends with ${code} where it was ${ending} before its nodes were drained, and names them`, () => {
      assert.deepEqual(conclude(ending, { view: OPEN }), [code, '', `nodemaint: ${says}`]);
    });
  }

  it('it ends with 1 where it was deleted before anything was seen of it', () => {
    assert.deepEqual(conclude('deleted'), [1, '', 'nodemaint: nodemaintenance/m was deleted\n']);
  });
});
