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
      'Could not evict a pod due to failing eviction requests, number of retries: 4. Blocked by PodDisruptionBudget db: The disruption budget db needs 1 healthy pods and has 1 currently';
    const text = lines({ waitingFor: [{ what: 'a/db', on: 'imperative-eviction.k8s.io', message }] }).join('\n');
    assert.match(text, /a\/db .* PodDisruptionBudget db, which needs 1 healthy pod and has 1$/m);
    assert.doesNotMatch(text, /retries/);
  });

  it('a node without a lock says that shutdowns do not wait', () => {
    const lock = { kind: 'none', held: true, message: 'held' };
    assert.ok(lines({ lock }).includes('Lock:         none (the key "lock"): a shutdown does not wait for this node'));
  });

  it('the time of the phase counts from its beginning, not from the start of the agent', () => {
    assert.match(lines({ watchingSince: NOW - 12_000 })[1] ?? '', /watching for 12s:/);
  });

  it('shouts where the lock is not held, and says why', () => {
    const lock = { kind: 'delay', held: false, message: 'logind does not answer' };
    assert.ok(lines({ lock }).includes('Lock:         NOT HELD (delay: logind does not answer)'));
  });

  it('the status of the agent says how long the lock delays a shutdown, and warns where that is too short', () => {
    const delay = { limitMs: 30_000, file: '/etc/systemd/logind.conf', problem: 'too short' };
    const shown = lines({ lock: { ...QUIET.lock, delay, deadManMs: 180_000 } });
    assert.ok(shown.includes('Delay:        at most 30s (/etc/systemd/logind.conf); 3m0s if the agent stops'));
    assert.ok(shown.includes('              WARNING: too short'));
  });

  it('the status of the agent shows a dash for a time that is not known, and warns of no delay without a problem', () => {
    const waitingFor = [{ what: 'default/web', on: 'kubelet', message: 'is terminating' }];
    const cluster = { configured: true, server: 'https://10.0.0.1:6443' };
    const shown = lines({ waitingFor, cluster, lock: { ...QUIET.lock, delay: { limitMs: 30_000 } } });
    assert.equal(shown.at(-2), '  default/web  -      -         kubelet: is terminating');
    assert.ok(shown.includes('Cluster:      https://10.0.0.1:6443, no answer yet'));
    assert.ok(!shown.some((line) => line.includes('WARNING')));
  });

  it('the status of the agent says what each pod waits for, how long it has waited, and how late it is', () => {
    const waitingFor = [
      {
        what: 'default/web',
        on: 'actor.example.com',
        message: 'Half done.',
        since: NOW - 60_000,
        expectedAt: NOW + 5_000,
      },
      { what: 'default/db', on: 'kubelet', message: 'terminating', since: NOW - 1_000, expectedAt: NOW - 2_000 },
    ];
    const table = lines({ waitingFor }).slice(-4, -1);
    assert.deepEqual(table, [
      '  POD          SINCE  EXPECTED  WAITING ON',
      '  default/web  1m0s   in 5s     actor.example.com: Half done.',
      '  default/db   1s     2s late   kubelet: terminating',
    ]);
  });

  it('the status of the agent says who drains where no controller is alive, and nothing of one that is', () => {
    const dead = lines({ controller: { state: 'dead', silentMs: 20_000 } });
    assert.ok(
      dead.includes('Controller:   no controller is alive (for at least 20s); this agent drains its own node'),
      dead.join('\n'),
    );
    assert.deepEqual(lines({ controller: { state: 'alive', silentMs: 0 } }), lines({}));
  });

  it('the status of the agent shows a scheduled shutdown, the maintenance, parked manifests and warnings', () => {
    const shown = lines({
      scheduled: { kind: 'reboot', at: NOW + 600_000 },
      maintenance: { name: 'shutdown-node-a', message: '' },
      parked: ['web.yaml'],
      storageProblem: 'ENOSPC',
      warnings: ['swap is on'],
    });
    for (const line of [
      'Scheduled:    reboot in 10m0s',
      'Maintenance:  shutdown-node-a',
      'Static pods:  1 in place, 1 parked (web.yaml)',
      'WARNING:      ENOSPC; the agent continues from memory',
      'WARNING:      swap is on',
    ]) {
      assert.ok(shown.includes(line), `${line} in\n${shown.join('\n')}`);
    }
  });
});
