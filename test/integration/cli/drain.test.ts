import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node } from '../../../src/api/pod.ts';
import type { DrainView } from '../../../src/show/progress/drain-progress.ts';
import { createActor } from '../../support/eviction/actors.ts';
import { type CommandEnd, type CommandRun, runCommand, startCommand } from '../../support/commands/command.ts';
import { buildEvictionRig, type EvictionRig, intercepts, NODE } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

const A = 'actor-a.example.com';

describe('the commands of nodes on a real API server, with the real controller', () => {
  let rig: EvictionRig;
  const actor = createActor(A);

  const run = (...args: string[]): Promise<CommandEnd> =>
    runCommand([...args, '--kubeconfig', rig.controlPlane.adminKubeconfig]);
  const start = (...args: string[]): CommandRun =>
    startCommand([...args, '--kubeconfig', rig.controlPlane.adminKubeconfig]);
  const get = async <T>(...what: string[]): Promise<T> =>
    JSON.parse(await rig.controlPlane.kubectl(['get', ...what, '-o', 'json'])) as T;
  const maintenances = async (): Promise<readonly NodeMaintenance[]> =>
    (await get<{ items: NodeMaintenance[] }>('nm')).items;
  const isCordoned = async (name: string): Promise<boolean> =>
    (await get<Node>('node', name)).spec?.unschedulable === true;
  const makeNode = async (name: string): Promise<void> => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name } };
    await rig.controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(node));
  };

  before(async () => {
    rig = await buildEvictionRig();
    await rig.startController();
    await rig.startInterceptor(actor);
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('the command changes nothing where one of the nodes does not exist', async () => {
    const { code, stdout, stderr } = await run('drain', NODE, 'node/absent', 'nowhere');
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(stderr, 'nodemaint: nodes "absent", "nowhere" not found; nothing was done\n');
    assert.deepEqual(await maintenances(), []);
    assert.equal((await run('complete', 'absent')).code, 1);
    assert.equal((await run('status', 'nm/absent')).stderr, 'nodemaint: nodemaintenances "absent" not found\n');
    assert.equal((await run('drain', 'pod/web')).code, 2);
    assert.equal((await run('drain', NODE, '--no-wait', '--timeout', '5s')).code, 2);
  });

  it('a dry run previews tiers and everything that would block, and changes nothing', async () => {
    const budget = (name: string, app: string): object => ({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name, namespace: 'default' },
      spec: { minAvailable: 1, selector: { matchLabels: { app } } },
    });
    for (const [name, app] of [
      ['only', 'kept'],
      ['one', 'twice'],
      ['two', 'twice'],
    ] as const)
      await rig.controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(budget(name, app)));
    await rig.createPod('kept', {}, { volumes: [{ name: 'cache', emptyDir: {} }] });
    await rig.createPod('twice', intercepts(A, 10_000));
    await rig.controlPlane.kubectl(['patch', 'pod', 'twice', '-p', '{"metadata":{"finalizers":["example.com/hold"]}}']);
    await rig.createPod('vital', {}, { priorityClassName: 'system-node-critical' });
    const { stdout, code } = await run('preview', NODE);
    assert.equal(code, 0);
    assert.match(stdout, /^node\/node-z: 3 pods in 2 tiers; 2 of them are blocked\n/);
    assert.match(
      stdout,
      /1\. Default, priority ≤ 1000000000\n[\s\S]*2\. Default, priority ≤ 2000001000\n[\s\S]*pod\/vital/,
    );
    assert.match(stdout, /pod\/kept .*\n +blocks: the PodDisruptionBudget only allows no disruption now/);
    assert.match(stdout, /local data is lost: cache \(emptyDir\); "nodemaint drain" needs --delete-emptydir-data/);
    assert.match(stdout, /pod\/twice .*actor-a\.example\.com\n +blocks: several PodDisruptionBudgets \(one, two\)/);
    assert.match(stdout, /finalizers are removed: example\.com\/hold/);
    assert.match(
      stdout,
      /may block: no controller owns it: it will not be recreated; "nodemaint drain" needs --delete-unmanaged for it/,
    );
    const plan = path.join(rig.folder, 'plan.yaml');
    await writeFile(
      plan,
      'drainPlan:\n- {podType: Default, podPriority: 5, podSelector: {matchLabels: {app: kept}}}\n',
    );
    const dry = await run('drain', NODE, '--plan', plan, '--delete-unmanaged', '--delete-emptydir-data', '--dry-run');
    assert.deepEqual([dry.code, dry.stderr], [0, '']);
    assert.match(
      dry.stdout,
      /^nodemaintenance\/maintenance-node-z created \(server dry run\): node\/node-z will be drained/,
    );
    assert.match(dry.stdout, /1\. Default, priority ≤ 5 \(app=kept\)\n.*\n +pod\/kept/);
    const refused = await run('drain', NODE, '--delete-unmanaged');
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    assert.match(refused.stderr, /in emptyDir volumes would be lost: default\/kept; use --delete-emptydir-data, or/);
    assert.match(
      (await run('drain', NODE, '--no-wait')).stderr,
      /^nodemaint: no controller owns these pods.*: default\/kept, default\/twice, default\/vital; use --delete-unmanaged, or leave them with --keep unmanaged\. Also, .*; nothing was done\n$/,
    );
    assert.deepEqual(await maintenances(), []);
    await writeFile(plan, '- {podType: Static, podPriority: 5}\n- {podType: Default, podPriority: 5}\n');
    const wrong = await run('drain', NODE, '--plan', plan);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /entry 2 \(Default ≤ 5\) must come before entry 1 \(Static ≤ 5\)/);
    await rig.controlPlane.kubectl(['delete', 'pdb', '--all']);
    await rig.controlPlane.kubectl(['patch', 'pod', 'twice', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
    for (const name of ['kept', 'twice', 'vital']) await rig.endPod(name);
  });

  it('cordon, drain and complete use one maintenance; the drain is watched pod by pod to its end', async () => {
    const cordon = await run('cordon', NODE, '--reason', 'new kernel');
    assert.equal(cordon.stdout, 'nodemaintenance/maintenance-node-z created\nnode/node-z cordoned\n', cordon.stderr);
    await rig.createPod('first', intercepts(A, 10_000));
    await rig.createPod('second', {}, { priorityClassName: 'system-node-critical' });
    actor.turn = { kind: 'working', message: 'Moving the data.' };
    await using drain = start('drain', `node/${NODE}`, '--delete-unmanaged', '--timeout', '60s');
    await drain.line(/^nodemaintenance\/maintenance-node-z configured: node\/node-z will be drained$/);
    await drain.line(/^nodemaintenance\/maintenance-node-z Drain, asked for by \S+: new kernel$/);
    await drain.line(/^node\/node-z evicting Default, priority ≤ 1000000000: 1 pod$/);
    await drain.line(/^node\/node-z evicting pod default\/first$/);
    await drain.line(
      /^node\/node-z pod\/first \(namespace default\): interceptor actor-a\.example\.com \(1 of 2\).*Moving the data\./,
    );
    assert.ok(!drain.lines().some((line) => line.includes('pod default/second')), 'its tier is not reached');

    const view = JSON.parse((await run('status', 'nm/maintenance-node-z', '-o', 'json')).stdout) as DrainView;
    assert.deepEqual(
      [view.stage, view.drained, view.nodes[0]?.tiers.map(({ state }) => state)],
      ['Drain', false, ['evicting', 'waiting']],
    );
    const status = await run('status', NODE);
    assert.match(
      status.stdout,
      /^node\/node-z {2}cordoned, under maintenance by nodemaintenance\/maintenance-node-z\n/,
    );
    assert.match(status.stdout, /0%, 0 of 2 pods gone/);
    assert.match(
      status.stdout,
      /pod\/first \(default\) {2}for \d+s: interceptor actor-a\.example\.com \(1 of 2\): Moving the data\./,
    );
    // The counts of a status are written less often than what it says.
    const row = /^maintenance-node-z +Drain +node-z +False +1 +1 +.*new kernel$/m;
    await waitFor('the table counts it', async () => row.test((await run('status')).stdout));

    actor.turn = { kind: 'completed', message: 'Moved.' };
    await rig.endPod('first');
    await drain.line(/^node\/node-z pod\/first evicted \(namespace default\), 1\/2 gone$/);
    await drain.line(/^node\/node-z evicting pod default\/second$/);
    await drain.line(/^node\/node-z pod\/second \(namespace default\): terminating$/);
    await rig.endPod('second');
    const end = await drain.end();
    assert.deepEqual([end.code, end.stderr], [0, ''], end.stdout);
    assert.equal(drain.lines().filter((line) => line === 'node/node-z drained').length, 1);
    assert.match(end.stdout, /End the maintenance with: {2}nodemaint complete nm\/maintenance-node-z/);
    assert.equal((await maintenances()).length, 1);

    const again = await run('drain', NODE, '--timeout', '60s', '-o', 'json');
    assert.equal(again.code, 0);
    const views = again.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as DrainView);
    assert.equal(views.at(-1)?.drained, true);
    const named = await run('drain', NODE, '-o', 'name');
    const name = 'nodemaintenance.nodemaintenance.x-k8s.io/maintenance-node-z\n';
    assert.deepEqual([named.code, named.stdout, named.stderr], [0, name, '']);
    const complete = await run('complete', NODE, '--delete');
    assert.equal(
      complete.stdout,
      'nodemaintenance/maintenance-node-z completed\nnode/node-z uncordoned\nnodemaintenance "maintenance-node-z" deleted\n',
      complete.stderr,
    );
    assert.deepEqual([await isCordoned(NODE), await maintenances()], [false, []]);
    assert.deepEqual((await run('complete', NODE)).stdout, 'node/node-z is not under maintenance\n');
  });

  it('an interrupted or late command leaves the maintenance and says how to go on', async () => {
    await rig.createPod('slow', intercepts(A, 10_000));
    actor.turn = { kind: 'working', message: 'Still busy.' };
    const late = await run('drain', NODE, '--delete-unmanaged', '--timeout', '2s');
    assert.equal(late.code, 3, late.stderr);
    assert.match(
      late.stderr,
      /the --timeout is over; the maintenance goes on without this command; not drained yet: node\/node-z\n/,
    );
    await using drain = start('drain', NODE, '--timeout', '60s');
    await drain.line(/^nodemaintenance\/maintenance-node-z unchanged/);
    await drain.line(/pod default\/slow/);
    drain.interrupt();
    const { code, stderr } = await drain.end();
    assert.equal(code, 130);
    assert.match(
      stderr,
      /interrupted;[\s\S]*nodemaint status nm\/maintenance-node-z --watch --kubeconfig .*\n.*nodemaint complete nm\//,
    );
    assert.equal((await maintenances())[0]?.spec.stage, 'Drain');
    const asked = await run('drain', NODE, '--no-wait');
    const is = 'nodemaintenance/maintenance-node-z unchanged: node/node-z will be drained\n';
    assert.deepEqual(
      [asked.code, asked.stdout, asked.stderr],
      [0, is, ''],
      'it does not wait for the pod that is left',
    );
    await using watch = start('status', NODE, '--watch', '--timeout', '60s');
    await watch.line(/Still busy/);
    assert.equal((await run('complete', NODE)).code, 0);
    const over = await watch.end();
    assert.equal(over.code, 1);
    assert.match(over.stderr, /nodemaintenance\/maintenance-node-z was completed; not drained yet: node\/node-z/);
    // The complete one keeps its name: the next maintenance gets another.
    await rig.endPod('slow');
    const next = await run('drain', NODE, '--timeout', '60s');
    assert.match(next.stdout, /nodemaintenance\/maintenance-node-z-2 created/);
    assert.equal(next.code, 0);
    assert.equal((await run('complete', NODE, '--delete')).code, 0);
    assert.deepEqual(await maintenances(), []);
  });

  it('a drain of several nodes is a maintenance for each, which all are followed; with --together one for all', async () => {
    await makeNode('node-b');
    const absent = await run('drain', 'node-b', NODE, 'nowhere');
    assert.match(absent.stderr, /nodes "nowhere" not found; nothing was done/);
    assert.deepEqual(await maintenances(), []);
    const named = await run('drain', 'node-b', NODE, '--name', 'rack-1');
    assert.deepEqual([named.code, /add --together/.test(named.stderr)], [2, true]);
    await rig.createPod('last', intercepts(A, 10_000));
    actor.turn = { kind: 'working', message: 'Busy.' };
    await using drain = start('drain', 'node-b', NODE, 'node/node-b', '--delete-unmanaged', '--timeout', '60s');
    await drain.line(/^nodemaintenance\/maintenance-node-b created: node\/node-b will be drained$/);
    await drain.line(/^node\/node-b drained$/);
    await drain.line(/pod\/last .*Busy/);
    const given = await run('complete', 'node-b');
    assert.deepEqual(
      [given.code, given.stdout.includes('node/node-b uncordoned')],
      [0, true],
      'each is given back alone',
    );
    await rig.endPod('last');
    const end = await drain.end();
    assert.deepEqual([end.code, end.stderr], [0, '']);
    for (const name of ['node-b', NODE])
      assert.match(end.stdout, new RegExp(`nodemaint complete nm/maintenance-${name} `));
    assert.equal((await run('complete', NODE, 'nm/maintenance-node-b', '--delete')).code, 0);
    await rig.controlPlane.kubectl(['cordon', 'node-b']);
    const rack = ['--name', 'rack-1', '--together', '--timeout', '60s'];
    const { code, stdout } = await run('drain', 'node-b', NODE, ...rack);
    assert.equal(code, 0);
    assert.match(stdout, /^nodemaintenance\/rack-1 created: node\/node-b, node\/node-z will be drained\n/);
    const alone = await run('complete', 'node-b');
    assert.match(alone.stderr, /nodemaintenance\/rack-1 also covers node\/node-z/);
    const both = await run('complete', 'node-b', NODE);
    assert.match(both.stdout, /node\/node-b stays cordoned: a person had cordoned it; see: kubectl uncordon node-b\n/);
    assert.deepEqual([await isCordoned('node-b'), await isCordoned(NODE)], [true, false]);
    assert.equal((await run('complete', 'nm/rack-1', '--delete')).code, 0);
  });

  it('a drain leaves alone what it is told to, refuses what would be lost, and says at its end what stays', async () => {
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logger', uid: 'logger', controller: true };
    await rig.createPod('logger');
    const owned = JSON.stringify({ metadata: { ownerReferences: [owner] } });
    await rig.controlPlane.kubectl(['patch', 'pod', 'logger', '-p', owned]);
    await rig.createPod('naked');
    const refused = await run('drain', NODE, '--keep', 'daemonsets', '--timeout', '5s');
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    assert.match(
      refused.stderr,
      /would create them again: default\/naked; use --delete-unmanaged, .*; nothing was done/,
    );
    assert.deepEqual(await maintenances(), []);
    await run('cordon', NODE);
    await using drain = start('drain', NODE, '--keep', 'daemonsets,unmanaged', '--timeout', '60s');
    await drain.line(/^node\/node-z drained, 2 pods kept: default\/logger, default\/naked$/);
    assert.equal((await drain.end()).code, 0);
    const [maintenance] = await maintenances();
    assert.deepEqual(maintenance?.spec.keepPods, ['DaemonSet', 'Unmanaged', 'EmptyDir']);
    const condition = maintenance.status?.conditions?.find(({ type }) => type === 'Drained');
    assert.match(condition?.message ?? '', /What stays: kept by the maintenance.*: default\/logger, default\/naked\.$/);
    await waitFor('the node says that it is drained', async () => {
      const { status } = await get<Node>('node', NODE);
      return status?.conditions?.some((each) => each.type === 'Drained' && each.status === 'True') === true;
    });
    assert.ok((await rig.getPod('naked')) !== undefined && (await rig.getPod('logger')) !== undefined);
    const other = await run('drain', NODE, '--delete-unmanaged', '--timeout', '5s');
    assert.match(other.stderr, /drains already and keeps other pods \(keepPods: DaemonSet, Unmanaged, EmptyDir\)/);
    const later = ['patch', 'nm', 'maintenance-node-z', '--type=merge', '-p', '{"spec":{"keepPods":[]}}'];
    await assert.rejects(rig.controlPlane.kubectl(later), /keepPods is immutable from the stage Drain on/);
    assert.equal((await run('complete', NODE, '--delete')).code, 0);
    for (const name of ['naked', 'logger']) await rig.endPod(name);
  });
});
