import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { completeOwn, ensureMaintenance } from '../../../../src/agent/shutdown/maintenance.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { OwnState } from '../../../../src/decide/maintenance/agent-names.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { DRAINING, SHUTDOWN } from '../../../support/agent/phase-facts.ts';

const SIGNAL = new AbortController().signal;
const WATCHING: Phase = { kind: 'watching' };
const CANCELED: Phase = { kind: 'recovering', cause: 'canceled', ...SHUTDOWN };

function maintenance(name: string, stage: 'Drain' | 'Complete', annotations = {}): NodeMaintenance {
  return { metadata: { name, annotations }, spec: { stage, nodeSelector: { nodeSelectorTerms: [] } } };
}

/** A cluster that notes what is asked of it. */
function recordingCluster(states: OwnState[], own: readonly NodeMaintenance[] = []) {
  const calls: string[] = [];
  const note =
    (verb: string) =>
    ({ metadata }: NodeMaintenance): Promise<void> => {
      calls.push(`${verb} ${metadata.name}`);
      return metadata.name === 'broken' ? Promise.reject(new Error('refused')) : Promise.resolve();
    };
  return {
    calls,
    state: () => (states.length > 1 ? states.shift() : states[0]) ?? 'absent',
    own: () => own,
    confirm: (name: string) => {
      calls.push(`confirm ${name}`);
      return Promise.resolve();
    },
    create: ({ maintenance: name }: { maintenance: string }) => {
      calls.push(`create ${name}`);
      return Promise.resolve();
    },
    complete: note('complete'),
    remove: note('remove'),
  };
}

describe('the NodeMaintenance of a shutdown', () => {
  const cases: [string, typeof DRAINING, OwnState[], string[]][] = [
    ['is created if a drain with the cluster has none', DRAINING, ['absent'], [`create ${DRAINING.maintenance}`]],
    ['is confirmed, and not created again', DRAINING, ['open'], [`confirm ${DRAINING.maintenance}`]],
    [
      'is created again in the iteration that finds it deleted before the watch has shown it',
      DRAINING,
      ['open', 'absent'],
      [`confirm ${DRAINING.maintenance}`, `create ${DRAINING.maintenance}`],
    ],
    ['is not created under a name that is taken', DRAINING, ['taken'], []],
    ['is not created again where a person completed it', DRAINING, ['completed'], []],
  ];
  for (const [what, phase, states, expected] of cases) {
    it(what, async () => {
      const cluster = recordingCluster(states);
      await ensureMaintenance(cluster, [], phase, SIGNAL);
      assert.deepEqual(cluster.calls, expected);
    });
  }

  it('takes the place of those of earlier shutdowns that are complete', async () => {
    const own = [maintenance('old', 'Complete'), maintenance('open', 'Drain')];
    const cluster = recordingCluster(['absent'], own);
    await ensureMaintenance(cluster, [], DRAINING, SIGNAL);
    assert.deepEqual(cluster.calls.slice(1), ['remove old']);
  });
});

describe("the end of this node's maintenances", () => {
  const own = [
    maintenance('broken', 'Drain'),
    maintenance(DRAINING.maintenance, 'Drain'),
    maintenance('old', 'Complete'),
  ];
  const cases: [string, 'complete' | 'wait', Phase, string[], boolean?][] = [
    [
      'completes all that are open after a boot',
      'complete',
      WATCHING,
      ['complete broken', `complete ${DRAINING.maintenance}`],
    ],
    ['is left to people where the policy says so', 'wait', WATCHING, []],
    ['completes a canceled one whatever the policy is', 'wait', CANCELED, [`complete ${DRAINING.maintenance}`]],
    ['waits while the shutdown is held', 'complete', DRAINING, []],
    ['waits for a member of the control plane on its way back', 'complete', WATCHING, [], true],
  ];
  for (const [what, onBoot, phase, expected, isReturning = false] of cases) {
    it(what, async () => {
      const cluster = recordingCluster(['open'], own);
      const done = completeOwn(cluster, { onBoot, isReturning }, phase, SIGNAL);
      // The other one is completed although the API server refuses the first.
      if (expected.includes('complete broken')) await assert.rejects(done, /refused/);
      else await done;
      assert.deepEqual(cluster.calls, expected);
    });
  }
});
