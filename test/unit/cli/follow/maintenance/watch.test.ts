import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../../src/api/pod.ts';
import { drainOutput } from '../../../../../src/cli/follow/maintenance/output.ts';
import { type DrainWatchResult, watchDrain } from '../../../../../src/cli/follow/maintenance/watch.ts';
import { createSystemClock } from '../../../../../src/host/clock.ts';
import { NODE_MAINTENANCES, PODS } from '../../../../../src/kube/resource.ts';
import { createObjectStore, type ObjectStore } from '../../../../support/stand-ins/object-store.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import { recordTerminal, type RecordedTerminal } from '../../../../support/stand-ins/recorded-terminal.ts';

const TARGET = { name: 'm', uid: 'uid-m', nodes: ['n'] };
const LIMIT_MS = 20_000;

function maintenance(stage: 'Drain' | 'Complete', uid = 'uid-m'): NodeMaintenance {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  return {
    metadata: { name: 'm', uid },
    spec: { stage, nodeSelector: { nodeSelectorTerms: [] }, reason: 'kernel' },
    status: {
      stageStatuses: [{ name: stage, startTimestamp: lastTransitionTime }],
      nodeStatuses: [{ nodeRef: { name: 'n' }, drainTargets: [{ podType: 'Default', podPriority: 2_147_483_647 }] }],
      conditions: [{ type: 'Drained', status: 'False', reason: 'x', message: '', lastTransitionTime }],
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

function start(object: NodeMaintenance): Run {
  const store = createObjectStore();
  store.put(NODE_MAINTENANCES, object);
  store.put(PODS, POD);
  const recorded = recordTerminal('pipe', () => Date.UTC(2026, 0, 1));
  const context = { client: store.client, clock: createSystemClock(), ...drainOutput(recorded.terminal, 'table') };
  return { store, recorded, result: watchDrain(TARGET, context, LIMIT_MS, recorded.terminal.stop) };
}

/** Changes something once the watch has shown what was there before. */
async function onceShown({ recorded }: Run, change: () => void): Promise<void> {
  await waitFor('the maintenance is shown', () => recorded.output().includes('nodemaintenance/m Drain'));
  change();
}

describe('the watch of a drain', () => {
  const endings: readonly [string, NodeMaintenance | undefined, string][] = [
    ['completed', maintenance('Complete'), 'completed'],
    ['deleted', undefined, 'deleted'],
    ['replaced by another of its name', maintenance('Drain', 'another'), 'deleted'],
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
});
