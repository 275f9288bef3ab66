import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { hasEnded, isActive, requestersOf } from '../../support/eviction/actors.ts';
import { A, ACTOR, buildEvictCommandRig, CLI, type EvictCommandRig } from '../../support/rigs/evict-command.ts';

const DRAINER = 'drainer.example.com';

describe('nodemaint evict --watch on a real API server, with the real controller', () => {
  let rig: EvictCommandRig;
  before(async () => {
    rig = await buildEvictCommandRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
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
});
