import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { runEvict } from '../../support/commands/evict.ts';
import { ACTOR, buildEvictCommandRig, type EvictCommandRig, RULES } from '../../support/rigs/evict-command.ts';

/** What it needs beside the rights of `nodemaint evict`. */
const BUDGETS = { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list'] };
const EVENTS = { apiGroups: [''], resources: ['events'], verbs: ['create'] };
const IN_SPITE = ['--in-spite-of-budget', '--yes'];

describe('nodemaint evict --in-spite-of-budget on a real API server', () => {
  let rig: EvictCommandRig;
  let bob: string;
  before(async () => {
    rig = await buildEvictCommandRig();
    bob = await rig.userWith('bob', [...RULES, BUDGETS, EVENTS]);
    await rig.apply({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'guard', namespace: 'default' },
      spec: {
        minAvailable: 100,
        selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['one', 'two', 'three'] }] },
      },
    });
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });
  const now = async (name: string): Promise<Pod | undefined> => await rig.getPod(name);
  const isTerminating = async (name: string): Promise<boolean> =>
    (await now(name))?.metadata.deletionTimestamp !== undefined;

  it('the pod is deleted with its grace period, and an Event on it says by whom and why', async () => {
    const pod = await rig.createPod('one', ACTOR);
    const { code, stdout, stderr } = await runEvict([
      'one',
      ...IN_SPITE,
      '--reason',
      'the node burns',
      '--kubeconfig',
      bob,
    ]);
    assert.equal(stderr, '');
    assert.match(stdout, /^pod\/one in namespace default is protected:\n {2}PodDisruptionBudget guard /);
    assert.match(stdout, /\npod\/one deleted in spite of PodDisruptionBudget guard; it has \d+ s to end\n$/);
    assert.equal(code, 0);
    assert.ok(await isTerminating('one'));
    const select = `involvedObject.uid=${pod.metadata.uid},reason=DeletedInSpiteOfBudget`;
    const event = await rig.controlPlane.kubectl([
      'get',
      'events',
      '--field-selector',
      select,
      '-o',
      'jsonpath={.items[*].message}',
    ]);
    assert.equal(event, 'bob deleted the pod in spite of PodDisruptionBudget guard: the node burns');
    const again = await runEvict(['one', ...IN_SPITE, '--kubeconfig', bob]);
    assert.deepEqual([again.stdout, again.code], ['pod/one is terminating already\n', 0]);
  });

  it('nothing is deleted in a dry run, without consent, or where no budget holds the pod', async () => {
    await rig.createPod('two', ACTOR);
    await rig.createPod('free', ACTOR);
    const unasked = await runEvict(['two', '--in-spite-of-budget', '--kubeconfig', bob]);
    assert.match(unasked.stderr, /write --yes where no person sits at a terminal/);
    assert.equal(unasked.code, 2);
    const dry = await runEvict(['two', '--in-spite-of-budget', '--dry-run', '--kubeconfig', bob]);
    assert.match(dry.stdout, /deleted in spite of .*\(server dry run\)\n$/);
    const free = await runEvict(['free', ...IN_SPITE, '--kubeconfig', bob]);
    assert.match(free.stderr, /held by no PodDisruptionBudget now: evict it without --in-spite-of-budget/);
    assert.equal(free.code, 1);
    assert.deepEqual([await isTerminating('two'), await isTerminating('free')], [false, false]);
  });

  it('what the person may not do is said: read budgets, or write the Event', async () => {
    await rig.createPod('three', ACTOR);
    const blind = await rig.evict('three', ...IN_SPITE);
    assert.match(blind.stderr, /poddisruptionbudgets/);
    assert.equal(blind.code, 1);
    assert.equal(await isTerminating('three'), false);
    const mute = await rig.userWith('carol', [...RULES, BUDGETS]);
    const done = await runEvict(['three', ...IN_SPITE, '--kubeconfig', mute]);
    assert.match(done.stderr, /^warning: no Event tells of it: .*events/);
    assert.equal(done.code, 0);
    assert.ok(await isTerminating('three'));
  });
});
