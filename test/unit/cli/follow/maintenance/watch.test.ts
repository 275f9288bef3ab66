import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../../src/api/pod.ts';
import type { OutputFormat } from '../../../../../src/cli/terminal/terminal.ts';
import { drainOutput } from '../../../../../src/cli/follow/maintenance/output.ts';
import { type DrainWatchResult, watchDrain } from '../../../../../src/cli/follow/maintenance/watch.ts';
import { createSystemClock } from '../../../../../src/host/clock.ts';
import { NODE_MAINTENANCES, PODS } from '../../../../../src/kube/resource.ts';
import { createObjectStore, type ObjectStore } from '../../../../support/stand-ins/object-store.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import { recordTerminal, type RecordedTerminal } from '../../../../support/stand-ins/recorded-terminal.ts';

const TARGET = { name: 'm', uid: 'uid-m', nodes: ['n'] };
const LIMIT_MS = 20_000;

function maintenance(
  stage: 'Drain' | 'Complete',
  extra: { readonly uid?: string; readonly drained?: boolean } = {},
): NodeMaintenance {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const isDrained = extra.drained === true;
  return {
    metadata: { name: 'm', uid: extra.uid ?? 'uid-m' },
    spec: { stage, nodeSelector: { nodeSelectorTerms: [] }, reason: 'kernel' },
    status: {
      stageStatuses: [{ name: stage, startTimestamp: lastTransitionTime }],
      nodeStatuses: [{ nodeRef: { name: 'n' }, drainTargets: [{ podType: 'Default', podPriority: 2_147_483_647 }] }],
      conditions: [
        { type: 'Drained', status: isDrained ? 'True' : 'False', reason: 'x', message: '', lastTransitionTime },
      ],
    },
  };
}

const POD: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'uid-web' },
  spec: { nodeName: 'n' },
  status: { phase: 'Running' },
};

interface Run {
  readonly store: ObjectStore;
  readonly recorded: RecordedTerminal;
  readonly result: Promise<DrainWatchResult>;
}

function start(object: NodeMaintenance | undefined, output: OutputFormat = 'table', timeoutMs = LIMIT_MS): Run {
  const store = createObjectStore();
  if (object !== undefined) store.put(NODE_MAINTENANCES, object);
  store.put(PODS, POD);
  const recorded = recordTerminal('pipe', () => Date.UTC(2026, 0, 1));
  const context = { client: store.client, clock: createSystemClock(), ...drainOutput(recorded.terminal, output) };
  return { store, recorded, result: watchDrain(TARGET, context, timeoutMs, recorded.terminal.stop) };
}

/** Changes something once the watch has shown what was there before. */
async function onceShown({ recorded }: Run, change: () => void): Promise<void> {
  await waitFor('the maintenance is shown', () => recorded.output().includes('nodemaintenance/m Drain'));
  change();
}

describe('the watch of a drain', () => {
  it('the watch ends when the nodes are drained, and writes a line for each change', async () => {
    const run = start(maintenance('Drain'));
    const { store, recorded, result } = run;
    await onceShown(run, () => {
      store.remove(PODS, 'default/web');
      store.put(NODE_MAINTENANCES, maintenance('Drain', { drained: true }));
    });
    const { ending, view } = await result;
    assert.deepEqual([ending, view?.drained], ['drained', true]);
    const lines = recorded.output().split('\n');
    assert.equal(lines[0], '2026-01-01T00:00:00Z nodemaintenance/m Drain: kernel');
    assert.ok(
      lines.includes('2026-01-01T00:00:00Z node/n pod/web evicted (namespace default), 1/1 gone'),
      lines.join('\n'),
    );
    assert.ok(lines.includes('2026-01-01T00:00:00Z node/n drained'), lines.join('\n'));
  });

  const endings: readonly [string, NodeMaintenance | undefined, string][] = [
    ['completed', maintenance('Complete'), 'completed'],
    ['deleted', undefined, 'deleted'],
    ['replaced by another of its name', maintenance('Drain', { uid: 'another' }), 'deleted'],
  ];
  for (const [what, change, ending] of endings) {
    it(`the watch ends when the maintenance is ${what}`, async () => {
      const run = start(maintenance('Drain'));
      await onceShown(run, () => {
        if (change === undefined) run.store.remove(NODE_MAINTENANCES, 'm');
        else run.store.put(NODE_MAINTENANCES, change);
      });
      assert.equal((await run.result).ending, ending);
    });
  }

  it('the watch ends when it is interrupted, with what it has seen', async () => {
    const run = start(maintenance('Drain'));
    await onceShown(run, run.recorded.interrupt);
    const { ending, view } = await run.result;
    assert.deepEqual([ending, view?.nodes.map(({ name }) => name)], ['interrupted', ['n']]);
  });

  it('the watch writes a JSON document for each change, and nothing else, to standard output', async () => {
    const { recorded, result } = start(maintenance('Drain', { drained: true }), 'json');
    assert.equal((await result).ending, 'drained');
    const lines = recorded.output().trimEnd().split('\n');
    const documents = lines.map((line) => JSON.parse(line) as { maintenance: string });
    assert.deepEqual([documents.length, documents[0]?.maintenance], [1, 'm']);
  });
});
