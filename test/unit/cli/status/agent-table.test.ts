import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
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
  it('the README shows the status of a held shutdown as it is printed', async () => {
    const readme = path.join(import.meta.dirname, '..', '..', '..', '..', 'README.md');
    const [, sample] = /\n\$ nodemaint status\n([^]*?\n)```/.exec(await readFile(readme, 'utf8')) ?? [];
    const name = 'shutdown-worker-1-4';
    const origin = { origin: 'logind', reason: 'node reboot', bootId: 'b', since: NOW - 8_000 } as const;
    const pod = { what: 'default/db-6db64cbfb-5t29s', on: 'imperative-eviction.k8s.io', since: NOW - 9_000 };
    const message =
      'Could not evict a pod due to failing eviction requests, number of retries: 4. Blocked by PodDisruptionBudget db, which needs 1 healthy pod and has 1.';
    const delay = { limitMs: 604_800_000, file: '/etc/systemd/logind.conf.d/zz-nodemaint.conf' };
    const held: Partial<AgentStatus> = {
      node: 'worker-1',
      phaseSince: origin.since,
      phase: { kind: 'draining', maintenance: name, mode: 'cluster', ...origin },
      summary: `shutdown held: draining the node (cluster, ${name})`,
      lock: { kind: 'unit', held: true, message: '', delay, deadManMs: 180_000 },
      cluster: { configured: true, server: 'https://198.19.255.254:24599', heardAt: NOW },
      maintenance: { name, message: 'Evacuating' },
      waitingFor: [{ wait: 'budget', ...pod, message }],
      inPlace: ['low.yaml', 'proxy.yaml'],
    };
    assert.equal(lines(held).join('\n'), sample);
  });

  const delay = { limitMs: 30_000, file: '/etc/systemd/logind.conf', problem: 'too short' };
  const wait = 'interceptor' as const;
  const web = { wait, what: 'default/web', on: 'actor.example.com', message: 'Half done.', since: NOW - 60_000 };
  const db = { wait, what: 'default/db', on: 'kubelet', message: 'terminating', since: NOW - 1_000 };
  const shown: readonly [string, Partial<AgentStatus>, readonly string[]][] = [
    ['that nothing is waited for', {}, ['Waiting for:  nothing']],
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
