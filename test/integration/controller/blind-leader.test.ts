import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { freePort } from '../../control-plane/port.ts';
import { startNodemaint } from '../../support/commands/nodemaint.ts';
import { hasEnded } from '../../support/eviction/actors.ts';
import { type ApiProxy, startApiProxy } from '../../support/stand-ins/api-proxy.ts';
import { buildEvictionRig, type EvictionRig } from '../../support/rigs/eviction.ts';
import { leaseOf, QUICK_ELECTION, type Replica, startReplica, untilLeads } from '../../support/rigs/leader.ts';
import { waitFor } from '../../support/wait-for.ts';

const REQUESTER = 'test.example.com';
const ROLE = 'nearsighted';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

describe('a leader that loses the right to read a resource, on a real API server', () => {
  let rig: EvictionRig;
  let rules: readonly Rule[];
  let kubeconfig: string;
  let pods = 0;

  const apply = async (object: object): Promise<string> =>
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));

  /** Gives the account of the first replica these rights. */
  const grant = async (granted: readonly Rule[]): Promise<void> => {
    await apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: ROLE },
      rules: granted,
    });
  };

  before(async () => {
    rig = await buildEvictionRig();
    const text = await rig.controlPlane.kubectl(['get', 'clusterrole', 'nodemaint-controller', '-o', 'json']);
    ({ rules } = JSON.parse(text) as { rules: readonly Rule[] });
    await grant(rules);
    const kind = { apiVersion: 'rbac.authorization.k8s.io/v1' };
    const roleOf = (type: string, name: string): object => ({
      apiGroup: 'rbac.authorization.k8s.io',
      kind: type,
      name,
    });
    const subjects = [{ kind: 'User', name: ROLE, apiGroup: 'rbac.authorization.k8s.io' }];
    const metadata = { name: ROLE };
    await apply({ ...kind, kind: 'ClusterRoleBinding', metadata, roleRef: roleOf('ClusterRole', ROLE), subjects });
    const ofLease = { metadata: { name: ROLE, namespace: 'nodemaint-system' }, subjects };
    const roleRef = roleOf('Role', 'nodemaint-leader-election');
    await apply({ ...kind, kind: 'RoleBinding', ...ofLease, roleRef });
    kubeconfig = await rig.controlPlane.kubeconfigFor(ROLE, []);
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  /** Asks that a new pod leaves. */
  const ask = async (): Promise<Pod> => {
    pods += 1;
    const pod = await rig.createPod(`p-${pods}`);
    await rig.request(pod, REQUESTER);
    return pod;
  };

  const untilEvicted = async (pod: Pod): Promise<void> => {
    const { name } = pod.metadata;
    const isLeaving = async (): Promise<boolean> => (await rig.getPod(name))?.metadata.deletionTimestamp !== undefined;
    await waitFor(`${name} is leaving`, isLeaving);
    await rig.endPod(name);
    await rig.waitFor(pod, 'evicted', hasEnded('Evicted'));
  };

  /** A first replica, which leads, with the account whose rights change; its watches go through the proxy. */
  const startNearsighted = async (stack: AsyncDisposableStack): Promise<{ replica: Replica; proxy: ApiProxy }> => {
    const proxy = stack.use(await startApiProxy(rig.controlPlane, kubeconfig));
    const replica = stack.use(await startReplica(rig, 'first', QUICK_ELECTION, proxy.kubeconfig));
    await untilLeads(replica);
    return { replica, proxy };
  };

  /** Takes verbs on a resource away; a watch that is open lives on until it ends. */
  const takeAway = async (proxy: ApiProxy, resource: string, verbs: readonly string[]): Promise<void> => {
    const left = rules.map((rule) =>
      rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((verb) => !verbs.includes(verb)) } : rule,
    );
    await grant(left.filter((rule) => rule.verbs.length > 0));
    const seen = proxy.requests.length;
    // What the API server has authorized before is in its cache for a while, and it opens the watch again.
    await waitFor(`${resource} is refused`, () => {
      proxy.endWatches(`/${resource}`);
      return proxy.requests
        .slice(seen)
        .some(({ path: where, status }) => where.includes(`/${resource}?`) && status === 403);
    });
  };

  const readiness = async (replica: Replica): Promise<string> => {
    const answer = await fetch(`${replica.url}/readyz`);
    return `${answer.status} ${(await answer.text()).trim()}`;
  };

  it('the leader gives its Lease back after a minute, another replica that sees goes on with the work, and the first one follows until it sees again', async () => {
    await using stack = new AsyncDisposableStack();
    const { replica: first, proxy } = await startNearsighted(stack);
    const second = stack.use(await startReplica(rig, 'second'));
    await untilEvicted(await ask());
    await takeAway(proxy, 'poddisruptionbudgets', ['list', 'watch']);
    const takenAt = Date.now();
    const pod = await ask();
    await untilLeads(second, 90_000);
    assert.ok(Date.now() - takenAt > 50_000, 'a short gap costs no leader');
    await untilEvicted(pod);
    assert.equal(await first.leads(), false);
    assert.ok(!first.program.exited(), 'it goes on watching');
    assert.equal(
      await readiness(first),
      '503 does not lead: these watches did not follow the API server: poddisruptionbudgets',
    );
    assert.equal(await readiness(second), '200 ok');
    const said = (await readFile(path.join(rig.folder, 'first.log'), 'utf8')).match(
      /this replica does not lead until they do/g,
    );
    assert.equal(said?.length, 1, 'it says so once');

    // Without the other one there is no leader: agents drain their own nodes, and a free Lease is left alone.
    await second.program.stop();
    await waitFor('the Lease is free', async () => ((await leaseOf(rig))?.spec?.holderIdentity ?? '') === '');
    const asked = proxy.requests.length;
    await waitFor('it has asked for volumes again', () =>
      proxy.requests.slice(asked).some(({ path: where }) => where.includes('/poddisruptionbudgets')),
    );
    assert.equal((await leaseOf(rig))?.spec?.holderIdentity ?? '', '');

    await grant(rules);
    await untilLeads(first, 60_000);
    await untilEvicted(await ask());
    assert.equal(await readiness(first), '200 ok');
  });

  it('a new replica without the right never leads, and says for what it waits', async () => {
    await using stack = new AsyncDisposableStack();
    const { replica: first, proxy } = await startNearsighted(stack);
    await takeAway(proxy, 'poddisruptionbudgets', ['list', 'watch']);
    await first.program.stop();
    const address = `127.0.0.1:${await freePort()}`;
    const args = ['controller', '--kubeconfig', proxy.kubeconfig, '--metrics-address', address, ...QUICK_ELECTION];
    const program = stack.use(startNodemaint(args, path.join(rig.folder, 'third.log')));
    const readyz = async (): Promise<string> => await (await fetch(`http://${address}/readyz`)).text();
    const expected = 'not synchronized yet: poddisruptionbudgets\n';
    await waitFor('it waits for one copy', async () => (await readyz()) === expected, { program });
    const asked = proxy.requests.length;
    await waitFor('it has asked for it again', () =>
      proxy.requests.slice(asked).some(({ path: where }) => where.includes('/poddisruptionbudgets')),
    );
    assert.equal((await leaseOf(rig))?.spec?.holderIdentity ?? '', '');
    await grant(rules);
    await waitFor('it is ready', async () => (await readyz()) === 'ok\n', { program });
    await untilEvicted(await ask());
  });
});
