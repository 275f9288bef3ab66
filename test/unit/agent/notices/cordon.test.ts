import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CordonCluster, keepNoticeCordon } from '../../../../src/agent/notices/cordon.ts';
import type { OwnState } from '../../../../src/decide/maintenance/agent-names.ts';

const SIGNAL = new AbortController().signal;
const CORDON = { metadata: { name: 'notice-node-a-0' }, spec: { nodeSelector: { nodeSelectorTerms: [] } } };

interface Facts {
  readonly synced?: boolean;
  readonly cordons?: readonly (typeof CORDON)[];
  readonly state?: OwnState;
  readonly taken?: readonly string[];
}

async function calls(reason: string | undefined, { synced = true, cordons = [], state = 'absent', taken = [] }: Facts) {
  const found: string[] = [];
  const cluster: CordonCluster = {
    maintenances: { synced: () => synced },
    own: {
      ownCordons: () => cordons,
      state: () => state,
      isFree: (name) => !taken.includes(name),
      remove: async ({ metadata }) => void found.push(`remove ${metadata.name}`),
      confirm: async (name) => void found.push(`confirm ${name}`),
      create: async ({ name, stage, reason: why }) => void found.push(`create ${name} ${stage} ${why}`),
    },
  };
  await keepNoticeCordon(cluster, 'node-a', reason, SIGNAL);
  return found;
}

describe('the cordon of a notice', () => {
  const cases: [string, string | undefined, Facts, string[]][] = [
    ['is created with the reason of the notice', 'freeze', {}, ['create notice-node-a-0 Cordon freeze']],
    [
      'is created with as much of a long reason as the API server takes',
      'x'.repeat(5_000),
      {},
      [`create notice-node-a-0 Cordon ${'x'.repeat(1_024)}`],
    ],
    ['is created with a reason on one line', 'a\n\u001B[2Jb', {}, ['create notice-node-a-0 Cordon a [2Jb']],
    ['takes a name that is free', 'freeze', { taken: ['notice-node-a-0'] }, ['create notice-node-a-1 Cordon freeze']],
    ['is there once', 'freeze', { cordons: [CORDON] }, []],
    ['is confirmed until the watch shows it', 'freeze', { state: 'open' }, ['confirm notice-node-a-0']],
    ['is removed when the notice is gone', undefined, { cordons: [CORDON] }, ['remove notice-node-a-0']],
    ['is left alone while the maintenances are not known', undefined, { synced: false, cordons: [CORDON] }, []],
    ['is not created while the maintenances are not known', 'freeze', { synced: false }, []],
  ];
  for (const [what, reason, facts, expected] of cases) {
    it(what, async () => {
      assert.deepEqual(await calls(reason, facts), expected);
    });
  }
});
