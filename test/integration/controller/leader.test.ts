import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { controllerAlive, type LeaseObservation, observeLease } from '../../../src/decide/leader/lease.ts';
import { createKubeClient } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { CONTROLLER_LEASE, readLease, writeLease } from '../../../src/kube/lease.ts';
import { collectionPath, EVENTS, LEASES } from '../../../src/kube/resource.ts';
import { hasEnded } from '../../support/eviction/actors.ts';
import { type ApiProxy, type ProxiedRequest, startApiProxy } from '../../support/stand-ins/api-proxy.ts';
import { buildEvictionRig, type EvictionRig } from '../../support/rigs/eviction.ts';
import { leaseOf, QUICK_ELECTION, type Replica, startReplica, untilLeads } from '../../support/rigs/leader.ts';
import { runNodemaint } from '../../support/commands/nodemaint.ts';
import { waitFor } from '../../support/wait-for.ts';

const REQUESTER = 'test.example.com';
const LEASE_MS = 3_000;
const never = new AbortController().signal;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function isOfLease({ path }: ProxiedRequest): boolean {
  return path.includes('/leases');
}

describe('leader election on a real API server', () => {
  let rig: EvictionRig;
  let pods = 0;
  before(async () => {
    rig = await buildEvictionRig();
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

  const isLeaving = async (pod: Pod): Promise<boolean> =>
    (await rig.getPod(pod.metadata.name))?.metadata.deletionTimestamp !== undefined;

  /** Waits until the pod is evicted, and plays its end. */
  const untilEvicted = async (pod: Pod, timeoutMs = 15_000): Promise<void> => {
    await waitFor(`${pod.metadata.name} is leaving`, () => isLeaving(pod), { timeoutMs });
    await rig.endPod(pod.metadata.name);
    await rig.waitFor(pod, 'evicted', hasEnded('Evicted'));
  };

  /** Starts a replica whose calls the test sees. */
  const startWatched = async (
    stack: AsyncDisposableStack,
    name: string,
    flags: readonly string[] = QUICK_ELECTION,
  ): Promise<{ readonly replica: Replica; readonly proxy: ApiProxy }> => {
    const proxy = stack.use(await startApiProxy(rig.controlPlane, rig.controllerKubeconfig));
    const replica = stack.use(await startReplica(rig, name, flags, proxy.kubeconfig));
    return { replica, proxy };
  };

  const writesOf = ({ requests }: ApiProxy, since = 0): readonly string[] =>
    requests
      .filter((each) => each.method !== 'GET' && each.at >= since && !isOfLease(each))
      .map(({ method, path }) => `${method} ${path}`);

  it('the first replica leads at once, while the second one watches and writes nothing, no events either', async () => {
    await using stack = new AsyncDisposableStack();
    const first = stack.use(await startReplica(rig, 'first'));
    assert.ok((await untilLeads(first)) < 1_000, 'a free Lease is taken at once');
    const { replica: second, proxy } = await startWatched(stack, 'second');
    const pod = await ask();
    await untilEvicted(pod);
    await pause(500);
    assert.equal(await second.leads(), false);
    assert.ok((await fetch(`${second.url}/readyz`)).ok, 'a follower is ready: it serves the webhook');
    assert.deepEqual(
      proxy.requests.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`),
      [],
    );
    const watches = proxy.requests.filter(({ path }) => path.includes('watch=1')).map(({ path }) => path.split('?')[0]);
    const all = ['/pods', '/nodes', '/nodemaintenances', '/evictionrequests', '/poddisruptionbudgets'];
    for (const plural of all)
      assert.ok(
        watches.some((each) => each?.endsWith(plural)),
        `a follower watches ${plural}`,
      );
    const spec = (await leaseOf(rig))?.spec;
    assert.match(spec?.holderIdentity ?? '', /^[^_]+_[0-9a-f-]{36}$/);
    assert.equal(spec?.leaseDurationSeconds, 3);
  });

  it('the leader hands over when it is told to stop, with the default times', async () => {
    await using stack = new AsyncDisposableStack();
    const first = stack.use(await startReplica(rig, 'first', []));
    await untilLeads(first);
    const second = stack.use(await startReplica(rig, 'second', []));
    await untilEvicted(await ask());
    const before = (await leaseOf(rig))?.spec;
    first.program.kill('SIGTERM');
    await untilLeads(second);
    const now = (await leaseOf(rig))?.spec;
    assert.notEqual(now?.holderIdentity, before?.holderIdentity);
    assert.equal(now?.leaseTransitions, (before?.leaseTransitions ?? 0) + 1);
    await waitFor('the first has ended', () => first.program.exited(), { timeoutMs: 5_000 });
    assert.match(await first.program.tail(), /"msg":"released the lease"/);
    await untilEvicted(await ask());
  });

  it('the Lease passes from a leader that was killed when it has expired, not before, and the work goes on', async () => {
    await using stack = new AsyncDisposableStack();
    const first = stack.use(await startReplica(rig, 'first'));
    await untilLeads(first);
    const { replica: second, proxy } = await startWatched(stack, 'second');
    await pause(1_000);
    first.program.kill('SIGKILL');
    const { renewTime = '' } = (await leaseOf(rig))?.spec ?? {};
    const pod = await ask();
    await untilLeads(second);
    const { acquireTime = '' } = (await leaseOf(rig))?.spec ?? {};
    const acquiredAt = Date.parse(acquireTime);
    const unrenewedMs = acquiredAt - Date.parse(renewTime);
    assert.ok(unrenewedMs >= LEASE_MS, `taken ${unrenewedMs} ms after the last renewal`);
    const early = proxy.requests.filter((each) => each.method !== 'GET' && !isOfLease(each) && each.at < acquiredAt);
    assert.deepEqual(early, [], 'it wrote nothing before it led');
    await untilEvicted(pod);
  });

  it('a leader that cannot renew stops before another one leads: it writes nothing more, follows, and leads again later', async () => {
    await using stack = new AsyncDisposableStack();
    const { replica: first, proxy } = await startWatched(stack, 'first');
    await untilLeads(first);
    const second = stack.use(await startReplica(rig, 'second'));
    await untilEvicted(await ask());
    // Its renewals get lost on the way; all else goes through, so that it would work on.
    proxy.hooks = { before: (_, request) => (isOfLease(request) ? 'hold' : 'pass') };
    const cutAt = Date.now();
    const asked: Pod[] = [];
    let secondLeadsAt = 0;
    while (secondLeadsAt === 0) {
      asked.push(await ask());
      if ((await second.leads()) === true) secondLeadsAt = Date.now();
      assert.ok(asked.length < 1_000, 'the second one leads');
    }
    const lastWrite = proxy.requests.findLast((each) => each.method !== 'GET' && !isOfLease(each));
    assert.ok((lastWrite?.at ?? 0) > cutAt, 'it worked on for a while');
    for (const pod of asked) await untilEvicted(pod);
    assert.deepEqual(writesOf(proxy, secondLeadsAt), []);
    assert.equal(await first.leads(), false);
    assert.match(await first.program.tail(), /"code":"LEASE_LOST"|lost the lease/);
    assert.ok(!first.program.exited(), 'it follows');
    // Back on the line, it is the next when the second one goes.
    proxy.hooks = {};
    await second.program.stop();
    await untilLeads(first);
    await untilEvicted(await ask());
  });

  it('a leader that stood still wakes up and writes nothing, whatever it was about to do', async () => {
    await using stack = new AsyncDisposableStack();
    const { replica: first, proxy } = await startWatched(stack, 'first');
    await untilLeads(first);
    const second = stack.use(await startReplica(rig, 'second'));
    await untilEvicted(await ask());
    first.program.kill('SIGSTOP');
    // Its watches fill up meanwhile: all of this is what it finds when it wakes up.
    const asked = [await ask(), await ask(), await ask()];
    await untilLeads(second);
    const wokenAt = Date.now();
    first.program.kill('SIGCONT');
    await waitFor('it follows', async () => (await first.leads()) === false, { timeoutMs: 5_000 });
    for (const pod of asked) await untilEvicted(pod);
    assert.deepEqual(writesOf(proxy, wokenAt), []);
  });

  it('a node reads this Lease and nothing else, and learns whether a controller lives', async () => {
    const node = createKubeClient(
      await loadClusterAccess(await rig.controlPlane.kubeconfigFor('system:node:node-a', ['system:nodes'])),
      'agent',
    );
    let sight: LeaseObservation | undefined;
    const look = async (): Promise<ReturnType<typeof controllerAlive>> => {
      sight = observeLease(sight, await readLease(node, CONTROLLER_LEASE, never), performance.now());
      return controllerAlive(sight, performance.now());
    };
    const replica = await startReplica(rig, 'only', []);
    await untilLeads(replica);
    await waitFor('it is seen alive', async () => (await look()) === 'alive', { timeoutMs: 5_000 });
    await replica.program.stop();
    assert.equal(await look(), 'unknown', 'a hand-over is no death');
    const releasedAt = Date.now();
    await waitFor('it is seen dead', async () => (await look()) === 'dead', { timeoutMs: 20_000 });
    assert.ok(Date.now() - releasedAt > 14_000);

    const old = await readLease(node, CONTROLLER_LEASE, never);
    const refused = { code: 'API_REFUSED', message: /forbidden/ };
    const write = { old, spec: { holderIdentity: 'evil' } };
    await assert.rejects(writeLease(node, CONTROLLER_LEASE, write, never), refused);
    await assert.rejects(readLease(node, { ...CONTROLLER_LEASE, name: 'other' }, never), refused);
    const { status } = await node.send({ method: 'GET', path: collectionPath(LEASES, 'nodemaint-system') }, never);
    assert.equal(status, 403);
    node.close();
  });

  it('the controller runs no election with --leader-elect=false', async () => {
    await using stack = new AsyncDisposableStack();
    const { replica, proxy } = await startWatched(stack, 'alone', ['--leader-elect=false']);
    await untilLeads(replica);
    await untilEvicted(await ask());
    assert.deepEqual(proxy.requests.filter(isOfLease), []);
    assert.ok(
      writesOf(proxy).some((each) => each.includes(collectionPath(EVENTS, 'default')) || each.includes('/eviction')),
    );
  });

  it('a replica that cannot listen on its address never leads: it ends, and the Lease is free', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const flags = ['controller', '--kubeconfig', rig.controllerKubeconfig, '--metrics-address', `127.0.0.1:${port}`];
    const { code, stderr } = await runNodemaint(flags);
    taken.close();
    assert.equal(code, 1);
    assert.match(stderr, /cannot serve metrics at/);
    assert.equal((await leaseOf(rig))?.spec?.holderIdentity, undefined);
  });

  it('the controller refuses times that do not fit together', async () => {
    const late = await runNodemaint(['controller', '--leader-elect-renew-deadline=15s']);
    assert.deepEqual(
      [late.code, late.stderr],
      [2, 'nodemaint: --leader-elect-renew-deadline: must be less than --leader-elect-lease-duration\n'],
    );
    const slow = await runNodemaint(['controller', '--leader-elect-retry-period=10s']);
    assert.deepEqual(
      [slow.code, slow.stderr],
      [2, 'nodemaint: --leader-elect-retry-period: must be less than --leader-elect-renew-deadline\n'],
    );
    const what = await runNodemaint(['controller', '--leader-elect=maybe']);
    assert.deepEqual([what.code, what.stderr], [2, 'nodemaint: --leader-elect: write true or false\n']);
  });
});
