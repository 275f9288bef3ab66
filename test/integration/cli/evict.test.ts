import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { createRequesterClient } from '../../../src/kube/eviction/requester.ts';
import { hasEnded, isActive, requestersOf } from '../../support/eviction/actors.ts';
import { runEvict } from '../../support/commands/evict.ts';
import { A, ACTOR, buildEvictCommandRig, CLI, type EvictCommandRig, RULES } from '../../support/rigs/evict-command.ts';
import { waitFor } from '../../support/wait-for.ts';

const DRAINER = 'drainer.example.com';

describe('nodemaint evict on a real API server, with the real controller', () => {
  let rig: EvictCommandRig;
  before(async () => {
    rig = await buildEvictCommandRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('the command asks for pods by both forms of their names, and says which are not there', async () => {
    const pods = [await rig.createPod('ask-1', ACTOR), await rig.createPod('ask-2', ACTOR)];
    const { code, stdout, stderr } = await rig.evict('ask-1', 'pod/ask-2', 'pods/ask-2', 'absent');
    assert.equal(stdout, 'pod/ask-1 eviction requested\npod/ask-2 eviction requested\n');
    assert.equal(stderr, 'nodemaint: pods "absent" not found in namespace "default"\n');
    assert.equal(code, 1, 'the others are handled, and yet it failed');
    for (const pod of pods) {
      const request = await rig.waitFor(pod, 'the controller takes it up', isActive(A));
      assert.deepEqual(requestersOf(request), [CLI]);
      assert.equal(request.metadata.name, pod.metadata.uid);
    }
    const again = await rig.evict('ask-1');
    assert.deepEqual([again.stdout, again.code], ['pod/ask-1 eviction already requested\n', 0]);
  });

  it('the command finds the kubeconfig, the context and its namespace as kubectl does', async () => {
    await rig.controlPlane.kubectl(['create', 'namespace', 'other']);
    await waitFor(
      'the namespace has its account',
      async () => (await rig.controlPlane.kubectl(['get', 'sa', 'default', '-n', 'other'])) !== '',
      { timeoutMs: 10_000 },
    );
    const pod = await rig.createPod('elsewhere', ACTOR, {}, 'other');
    const admin = rig.controlPlane.adminKubeconfig;
    const [cluster, user] = await Promise.all(
      ['clusters', 'users'].map((what) =>
        rig.controlPlane.kubectl(['config', 'view', '-o', `jsonpath={.${what}[0].name}`]),
      ),
    );
    const file = path.join(rig.folder, 'contexts');
    await rig.controlPlane.kubectl([
      'config',
      'set-context',
      'there',
      `--cluster=${cluster}`,
      `--user=${user}`,
      '--namespace=other',
      '--kubeconfig',
      file,
    ]);
    // The context is in one file, its cluster and user are in the other, as with kubectl.
    const env = { KUBECONFIG: `${file}:/nonexistent:${admin}` };
    const named = await runEvict(['elsewhere', '--context', 'there'], env);
    assert.deepEqual([named.stdout, named.stderr, named.code], ['pod/elsewhere eviction requested\n', '', 0]);
    assert.deepEqual(requestersOf(await rig.get(pod)), [CLI]);
    const current = await runEvict(['elsewhere'], env);
    assert.match(current.stderr, /pods "elsewhere" not found in namespace "default"/);
    const flagged = await runEvict(['elsewhere', '-n', 'other'], env);
    assert.equal(flagged.stdout, 'pod/elsewhere eviction already requested\n');
    const wrong = await runEvict(['elsewhere', '--context', 'nowhere'], env);
    assert.match(wrong.stderr, /context "nowhere" does not exist in .*; it has .*there/);
    assert.equal(wrong.code, 2);
  });

  it('the command prints the requests as JSON and YAML, one as itself and several as a List', async () => {
    const pods = [await rig.createPod('json-1', ACTOR), await rig.createPod('json-2', ACTOR)];
    const { stdout } = await rig.evict('json-1', '-o', 'json');
    const request = JSON.parse(stdout) as EvictionRequest;
    assert.equal(request.kind, 'EvictionRequest');
    assert.deepEqual(request.spec.target.pod, { name: 'json-1', uid: pods[0]?.metadata.uid });
    assert.doesNotMatch(stdout, /managedFields/);
    const both = JSON.parse((await rig.evict('json-1', 'json-2', '-o', 'json')).stdout) as {
      kind: string;
      items: Pod[];
    };
    assert.equal(both.kind, 'List');
    assert.deepEqual(
      both.items.map(({ metadata }) => metadata.name),
      pods.map(({ metadata }) => metadata.uid),
    );
    assert.match((await rig.evict('json-2', '-o', 'yaml')).stdout, /^ {2}requesters:\n {4}- name: cli\.nodemaint/m);
    // kubectl takes what is printed.
    await rig.controlPlane.kubectl(['get', '-f', '-'], stdout);
  });

  it('the command withdraws its own entry alone, and says who still asks', async () => {
    const pod = await rig.createPod('back', ACTOR);
    await rig.request(pod, DRAINER);
    const asked = await rig.evict('back');
    assert.equal(asked.stdout, `pod/back eviction requested; also requested by ${DRAINER}\n`);
    assert.deepEqual(requestersOf(await rig.get(pod)).toSorted(), [CLI, DRAINER]);
    const back = await rig.evict('back', '--withdraw');
    assert.equal(back.stdout, `pod/back eviction no longer requested; still requested by ${DRAINER}\n`);
    assert.equal(back.code, 0);
    assert.deepEqual(requestersOf(await rig.get(pod)), [DRAINER]);
    const twice = await rig.evict('back', '--withdraw');
    assert.equal(twice.stdout, `pod/back eviction is not requested by ${CLI}; still requested by ${DRAINER}\n`);
    assert.equal(twice.code, 0);
    await rig.withdraw(pod, DRAINER);
    await rig.waitFor(pod, 'canceled', hasEnded('Canceled'));
  });

  it('the command deletes a canceled request that is left over, and makes a new one; a dry run does not', async () => {
    const pod = await rig.createPod('anew', ACTOR);
    const dry = await rig.evict('anew', '--dry-run');
    assert.deepEqual([dry.stdout, dry.code], ['pod/anew eviction requested (server dry run)\n', 0]);
    assert.equal(await rig.get(pod), undefined, 'nothing was made');
    await rig.evict('anew');
    const first = await rig.waitFor(pod, 'A is designated', isActive(A));
    const dryBack = await rig.evict('anew', '--withdraw', '--dry-run');
    assert.match(
      dryBack.stdout,
      /no longer requested; no other requester is left, so it is canceled \(server dry run\)/,
    );
    assert.deepEqual(requestersOf(await rig.get(pod)), [CLI]);
    await rig.evict('anew', '--withdraw');
    await rig.waitFor(pod, 'canceled', hasEnded('Canceled'));
    const dryAnew = await rig.evict('anew', '--dry-run');
    assert.match(dryAnew.stdout, /requested again; the previous request was canceled: .* \(server dry run\)/);
    assert.equal((await rig.get(pod))?.metadata.uid, first.metadata.uid);
    const other = { ...first, metadata: { ...first.metadata, uid: crypto.randomUUID() } };
    const scope = { namespace: 'default', requester: CLI, dryRun: false };
    const requester = createRequesterClient(rig.client, scope);
    assert.equal(await requester.remove(other, false, AbortSignal.timeout(10_000)), false, 'the UID is heeded');
    const anew = await rig.evict('anew');
    assert.match(
      anew.stdout,
      /^pod\/anew eviction requested again; the previous request was canceled: Nobody requests/,
    );
    const second = await rig.waitFor(pod, 'A is designated again', isActive(A));
    assert.notEqual(second.metadata.uid, first.metadata.uid);
  });

  it('the command refuses a pod that is part of a workload before it makes a request', async () => {
    const extra = { schedulingGroup: { podGroupName: 'group' } };
    const pod = await rig.createPod('member', {}, extra);
    assert.notEqual((await rig.getPod('member'))?.spec.schedulingGroup, undefined);
    const { code, stderr } = await rig.evict('member');
    assert.match(stderr, /pod "member" is part of a Workload\/PodGroup; .*not supported/);
    assert.equal(code, 1);
    assert.equal(await rig.get(pod), undefined);
  });

  it('the command reports an entry that another field manager owns too, and does not withdraw it silently', async () => {
    const pod = await rig.createPod('owned', ACTOR);
    const { name, uid = '' } = pod.metadata;
    const spec = { target: { pod: { name, uid } }, requesters: [{ name: CLI }] };
    const kind = { apiVersion: 'coordination.x-k8s.io/v1alpha1', kind: 'EvictionRequest' };
    const made = { ...kind, metadata: { name: uid, namespace: 'default' }, spec };
    await rig.controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(made));
    assert.equal((await rig.evict('owned')).stdout, 'pod/owned eviction already requested\n');
    const { code, stderr } = await rig.evict('owned', '--withdraw');
    assert.match(stderr, /stays, because another field manager owns it too; see: kubectl get evreq /);
    assert.equal(code, 1);
  });

  it('a pod that has ended needs no request', async () => {
    const pod = await rig.createPod('succeeded');
    const done = ['patch', 'pod', 'succeeded', '--subresource=status', '-p', '{"status":{"phase":"Succeeded"}}'];
    await rig.controlPlane.kubectl(done);
    const { code, stdout } = await rig.evict('succeeded', '--watch');
    assert.equal(stdout, 'pod/succeeded already evicted: Pod succeeded has reached the phase Succeeded.\n');
    assert.equal(code, 0);
    assert.equal(await rig.get(pod), undefined);
  });

  it('the command says which permission is missing, in the words of the server', async () => {
    await rig.createPod('secret', ACTOR);
    const reads = await rig.userWith('bob', [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]);
    const asked = await runEvict(['secret', '--kubeconfig', reads]);
    assert.match(asked.stderr, /^nodemaint: pod "secret": evictionrequests\..* is forbidden: User "bob" cannot get/);
    assert.match(
      asked.stderr,
      /; missing permission: the verb get on evictionrequests\.coordination\.x-k8s\.io in the namespace default\n$/,
    );
    assert.equal(asked.code, 1);
    const [pods, requests] = RULES;
    const noWatch = { ...requests, verbs: ['get', 'create', 'patch'] };
    const asks = await rig.userWith('carol', [pods ?? {}, noWatch]);
    const watched = await runEvict(['secret', '--watch', '--kubeconfig', asks]);
    assert.match(watched.stdout, /^pod\/secret eviction requested\n/);
    assert.match(watched.stderr, /missing permission: the verb list on evictionrequests\.coordination\.x-k8s\.io/);
    assert.equal(watched.code, 1);
    const nobody = await rig.controlPlane.kubeconfigFor('nobody', []);
    const refused = await runEvict(['secret', '--kubeconfig', nobody]);
    assert.match(refused.stderr, /missing permission: the verb get on pods in the namespace default\n$/);
  });

  it('the command watches a pod through its interceptors to its end, and deletes the finished request', async () => {
    rig.actor.turn = {
      kind: 'working',
      message: 'Moving the\n\u001B[31mleader.',
      expectedFinishAt: Date.now() + 600_000,
    };
    const pod = await rig.createPod('watched', ACTOR);
    await using run = rig.watch('watched');
    await run.line(/^pod\/watched eviction requested$/);
    await run.line(new RegExp(String.raw`^pod/watched interceptor ${A} \(1 of 2\): Moving the \[31mleader\.$`));
    rig.actor.turn = { kind: 'completed', message: 'Moved.' };
    await run.line(/^pod\/watched terminating$/);
    assert.equal((await rig.getPod('watched'))?.metadata.name, 'watched', 'it is still there');
    await rig.endPod('watched');
    const { code, stderr } = await run.end();
    assert.equal(run.lines().at(-1), 'pod/watched evicted: Target Pod watched was deleted.');
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(new Set(run.lines()).size, run.lines().length, 'a line for each change, and no other');
    assert.equal(await rig.get(pod), undefined);
  });

  it('the command leaves a finished request to the others who asked for it', async () => {
    rig.actor.turn = { kind: 'completed', message: 'Nothing to do.' };
    const pod = await rig.createPod('shared', ACTOR);
    await rig.request(pod, DRAINER);
    await using run = rig.watch('shared', '-o', 'json');
    await rig.waitFor(pod, 'asked by both', (request) => requestersOf(request).includes(CLI));
    await rig.endPod('shared');
    const { code, stdout, stderr } = await run.end();
    assert.deepEqual([stderr, code], ['', 0]);
    const last = JSON.parse(stdout) as EvictionRequest;
    assert.ok(hasEnded('Evicted')(last), 'the last that was seen of it');
    assert.deepEqual(requestersOf(await rig.get(pod)), [DRAINER]);
  });

  it('the command names the budget that blocks, and ends with 3 when the time is over; the request stays', async () => {
    const pod = await rig.createPod('guarded');
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await rig.controlPlane.kubectl([
      'patch',
      'pod',
      'guarded',
      '--subresource=status',
      '-p',
      JSON.stringify({ status }),
    ]);
    const spec = { maxUnavailable: 0, selector: { matchLabels: { app: 'guarded' } } };
    await rig.apply({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'guard' }, spec });
    await using run = rig.watch('guarded', '--timeout', '5s');
    await run.line(/^pod\/guarded PodDisruptionBudget guard/);
    const { code, stderr } = await run.end();
    assert.match(stderr, /the --timeout is over; these pods have not left; their eviction stays requested: guarded\n/);
    assert.match(stderr, /\nWithdraw it with: nodemaint evict guarded --withdraw --kubeconfig \S+\n$/);
    assert.equal(code, 3);
    assert.deepEqual(requestersOf(await rig.get(pod)), [CLI]);
    await rig.evict('guarded', '--withdraw');
    await rig.controlPlane.kubectl(['delete', 'pdb', 'guard']);
  });

  it('the command says which eviction is canceled, and Ctrl-C leaves the requests, says how to withdraw and ends with 130', async () => {
    rig.actor.turn = { kind: 'working', message: 'At work.' };
    const pods = [await rig.createPod('taken', ACTOR), await rig.createPod('left', ACTOR)];
    await using run = rig.watch('taken', 'left', 'absent', '--requester', 'me.example.com');
    await run.line(/^pod\/taken .*At work/);
    await run.line(/^pod\/left .*At work/);
    const back = await rig.evict('taken', '--withdraw', '--requester', 'me.example.com');
    assert.equal(back.code, 0);
    await run.line(/^pod\/taken canceled: Nobody requests the eviction of Pod taken any more\.$/);
    run.interrupt();
    const { code, stderr } = await run.end();
    assert.match(stderr, /^nodemaint: pods "absent" not found/);
    assert.match(stderr, /the eviction of pod "taken" was canceled: Nobody/);
    assert.match(stderr, /interrupted; these pods have not left; their eviction stays requested: left\n/);
    assert.match(stderr, /nodemaint evict left --requester me\.example\.com --withdraw --kubeconfig \S+\n$/);
    assert.equal(code, 130);
    const [, left] = pods;
    assert.ok(left);
    assert.deepEqual(requestersOf(await rig.get(left)), ['me.example.com']);
  });

  it('the watch ends with 1 when the request is deleted', async () => {
    const pod = await rig.createPod('deleted', ACTOR);
    await using run = rig.watch('deleted');
    await rig.waitFor(pod, 'A is designated', isActive(A));
    await run.line(/^pod\/deleted interceptor /);
    await rig.controlPlane.kubectl(['delete', 'evreq', pod.metadata.uid ?? '']);
    const { code, stderr } = await run.end();
    assert.match(stderr, /the eviction of pod "deleted" was canceled: The EvictionRequest was deleted\./);
    assert.equal(code, 1);
  });

  it('the watch survives a restart of the API server, and sees what happened meanwhile', async () => {
    rig.actor.turn = { kind: 'working', message: 'At work.' };
    const pod = await rig.createPod('restart', ACTOR);
    await using run = rig.watch('restart');
    await run.line(/At work/);
    await rig.controlPlane.stopApiServer();
    await run.line(/^The connection is lost; trying again: /);
    await rig.controlPlane.startApiServer();
    rig.actor.turn = { kind: 'working', message: 'Still at work.' };
    await run.line(/Still at work/, 60_000);
    await rig.endPod('restart');
    const { code } = await run.end();
    assert.equal(run.lines().at(-1), 'pod/restart evicted: Target Pod restart was deleted.');
    assert.equal(code, 0);
    assert.equal(await rig.get(pod), undefined);
  });

  it('the command tells a cluster without the custom resources from a pod without a request', async () => {
    await rig.controller.stop();
    await rig.controlPlane.kubectl(['delete', 'crd', 'evictionrequests.coordination.x-k8s.io']);
    const { code, stderr } = await rig.evict('secret', 'ask-1');
    assert.equal(
      stderr,
      'nodemaint: pod "secret", pod "ask-1": this cluster has no evictionrequests.coordination.x-k8s.io: its custom resources are missing; install them with "kubectl apply -k manifests"\n',
    );
    assert.equal(code, 1);
  });
});
