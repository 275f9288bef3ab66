import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentStatus } from '../../../../src/agent/control/status.ts';
import { formatStatus } from '../../../../src/cli/status/agent-table.ts';

const NOW = Date.UTC(2026, 0, 1);

const QUIET: AgentStatus = {
  node: 'node-a',
  phase: { kind: 'watching' },
  summary: 'no shutdown is under way',
  lock: { kind: 'delay', held: true, message: '' },
  scheduled: null,
  cluster: { configured: true, server: 'https://10.0.0.1:6443', heardAt: NOW - 6_000 },
  maintenance: null,
  waitingFor: [],
  inPlace: ['etcd.yaml'],
  parked: [],
  warnings: [],
  startedAt: NOW - 90_000,
};

function lines(extra: Partial<AgentStatus>): readonly string[] {
  return formatStatus({ ...QUIET, ...extra }, NOW).split('\n');
}

describe('the status of the agent', () => {
  it('the status of the agent has a line for each fact', () => {
    assert.deepEqual(lines({}), [
      'Node:         node-a',
      'Phase:        watching for 1m30s: no shutdown is under way',
      'Lock:         held (delay)',
      'Cluster:      https://10.0.0.1:6443, last answer 6s ago',
      'Static pods:  1 in place, 0 parked',
      'Waiting for:  nothing',
      '',
    ]);
  });

  it('a budget that keeps a pod is told in few words, without the number of tries', () => {
    const message =
      'Could not evict a pod due to failing eviction requests, number of retries: 4. Blocked by PodDisruptionBudget db, which needs 1 healthy pod and has 1.';
    const text = lines({
      waitingFor: [{ wait: 'budget', what: 'a/db', on: 'imperative-eviction.k8s.io', message }],
    }).join('\n');
    assert.match(text, /a\/db .* PodDisruptionBudget db, which needs 1 healthy pod and has 1$/m);
    assert.doesNotMatch(text, /retries/);
  });

  const delay = { limitMs: 30_000, file: '/etc/systemd/logind.conf', problem: 'too short' };
  const wait = 'interceptor' as const;
  const web = { wait, what: 'default/web', on: 'actor.example.com', message: 'Half done.', since: NOW - 60_000 };
  const db = { wait, what: 'default/db', on: 'kubelet', message: 'terminating', since: NOW - 1_000 };
  const shown: readonly [string, Partial<AgentStatus>, readonly string[]][] = [
    [
      'how long the lock delays a shutdown, and that it is too short',
      { lock: { ...QUIET.lock, delay, deadManMs: 180_000 } },
      [
        'Delay:        at most 30s (/etc/systemd/logind.conf); 3m0s if the agent stops',
        '              WARNING: too short',
      ],
    ],
    [
      'a dash for a time that is not known',
      { waitingFor: [{ wait: 'grace-period', what: 'default/web', on: 'kubelet', message: 'is terminating' }] },
      ['  default/web  -      -         kubelet: is terminating'],
    ],
    [
      'that the API server has not answered yet',
      { cluster: { configured: true, server: 'https://10.0.0.1:6443' } },
      ['Cluster:      https://10.0.0.1:6443, no answer yet'],
    ],
    [
      'what each pod waits for, how long it has waited, and how late it is',
      {
        waitingFor: [
          { ...web, expectedAt: NOW + 5_000 },
          { ...db, expectedAt: NOW - 2_000 },
        ],
      },
      [
        '  POD          SINCE  EXPECTED  WAITING ON',
        '  default/web  1m0s   in 5s     actor.example.com: Half done.',
        '  default/db   1s     2s late   kubelet: terminating',
      ],
    ],
    ['a scheduled shutdown', { scheduled: { kind: 'reboot', at: NOW + 600_000 } }, ['Scheduled:    reboot in 10m0s']],
    ['the maintenance', { maintenance: { name: 'shutdown-a', message: '' } }, ['Maintenance:  shutdown-a']],
    ['parked manifests', { parked: ['web.yaml'] }, ['Static pods:  1 in place, 1 parked (web.yaml)']],
    [
      'warnings',
      { storageProblem: 'ENOSPC', warnings: ['swap is on'] },
      ['WARNING:      ENOSPC; the agent continues from memory', 'WARNING:      swap is on'],
    ],
  ];
  for (const [what, status, expected] of shown) {
    it(`the status of the agent says ${what}`, () => {
      const text = lines(status);
      const found = expected.filter((line) => !text.includes(line));
      assert.deepEqual(found, [], text.join('\n'));
    });
  }

  it('the status of the agent says nothing of a controller that is alive, and warns of no delay without a problem', () => {
    assert.deepEqual(lines({ controller: { state: 'alive', silentMs: 0 } }), lines({}));
    const calm = lines({ lock: { ...QUIET.lock, delay: { limitMs: 30_000 } } });
    assert.ok(!calm.some((line) => line.includes('WARNING')));
  });
});
