import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GateRelease } from '../../../../src/agent/daemon-set/gate.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import type { KubeClient, KubeRequest } from '../../../../src/kube/client.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';

describe('the release of the gated pods of a node', () => {
  it('the release asks in the namespaces of DaemonSets alone, each once, and for no more of these than their names', async () => {
    const asked: KubeRequest[] = [];
    const sets = ['kube-system', 'monitoring', 'kube-system', 'network'].map((namespace, index) => ({
      metadata: { name: `set-${index}`, namespace },
    }));
    const client: KubeClient = {
      send: (request) => {
        asked.push(request);
        return Promise.resolve({
          status: 200,
          headers: {},
          body: { metadata: { resourceVersion: '1' }, items: asked.length === 1 ? sets : [] },
        });
      },
      watch: async function* () {},
      close: () => undefined,
    };
    const clock = createSystemClock();
    const gates = new GateRelease({ client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined });
    await gates.release(AbortSignal.timeout(5_000));
    const [list, ...deletions] = asked;
    assert.ok(list?.path.startsWith('/apis/apps/v1/daemonsets?') && list.namesOnly === true);
    assert.deepEqual(
      deletions.map(({ method, path }) => `${method} ${path.split('?')[0]}`),
      ['kube-system', 'monitoring', 'network'].map((name) => `DELETE /api/v1/namespaces/${name}/pods`),
    );
    assert.ok(
      asked.every((request) => request.as === 'system:serviceaccount:nodemaint-system:nodemaint-agent-release'),
    );
  });

  /** In how many rounds all namespaces are asked, where so many pods wait at the gate and one goes in each round. */
  const rounds = async (isFresh: boolean, held: number): Promise<number> => {
    const clock = createSteppingClock();
    let left = held;
    const client: KubeClient = {
      send: ({ method }) => {
        const items = method === 'GET' || left > 0 ? [{ metadata: { name: 'x', namespace: 'network' } }] : [];
        if (method === 'DELETE') left -= 1;
        return Promise.resolve({ status: 200, headers: {}, body: { metadata: { resourceVersion: '1' }, items } });
      },
      watch: async function* () {},
      close: () => undefined,
    };
    const gates = new GateRelease({ client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined });
    if (isFresh) gates.begin();
    let count = 0;
    for (let isDone = false; !isDone && count < 5; count += 1) {
      isDone = await gates.release(AbortSignal.timeout(5_000));
      clock.pass(5_000);
    }
    return count;
  };

  it('the release is tried until no pod was released, and once more after a maintenance that has just ended', async () => {
    assert.deepEqual([await rounds(false, 0), await rounds(false, 1), await rounds(false, 2)], [1, 2, 3]);
    assert.deepEqual([await rounds(true, 0), await rounds(true, 1), await rounds(true, 2)], [2, 2, 3]);
  });

  it('where agents may not act as the account, the release says so once and is tried ever more rarely, but not never', async () => {
    const clock = createSteppingClock();
    let tries = 0;
    let isAllowed = false;
    let isDone = false;
    const message =
      'serviceaccounts "nodemaint-agent-release" is forbidden: User "system:node:n1" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "nodemaint-system"';
    const client: KubeClient = {
      send: () => {
        tries += 1;
        if (isAllowed)
          return Promise.resolve({ status: 200, headers: {}, body: { metadata: { resourceVersion: '1' }, items: [] } });
        return Promise.resolve({ status: 403, headers: {}, body: { message } });
      },
      watch: async function* () {},
      close: () => undefined,
    };
    const said: string[] = [];
    const log = { ...SILENT_LOG, warn: (_fields: object, text: string) => said.push(text) };
    const gates = new GateRelease({ client, clock, log, nodeName: 'n1', onChange: () => undefined });
    const look = async (seconds: number): Promise<number> => {
      const before = tries;
      for (let passed = 0; passed < seconds; passed += 1) {
        if (!isDone && gates.isDue()) isDone = await gates.release(AbortSignal.timeout(5_000));
        clock.pass(1_000);
      }
      return tries - before;
    };
    // At 0, 5, 15, 35, 75, 155, 315 and 635 s, and then every 600 s.
    assert.equal(await look(600), 7);
    assert.equal(await look(3_600), 6);
    assert.deepEqual(said, [
      'gated DaemonSet pods of own node wait for a controller: agents may not release them here',
    ]);
    assert.equal(gates.isDue(), false, 'nothing is asked of the cluster in between');
    isAllowed = true;
    assert.equal(await look(600), 1);
    assert.equal(await look(600), 0, 'released');
  });
});
