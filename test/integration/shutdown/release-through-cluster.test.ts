/** A machine that is held is let go through the cluster, by who has the verb for it, on a real API server with a real agent. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AGENT_LABEL, RELEASE_ANNOTATION } from '../../../src/api/names.ts';
import type { KubeClient, KubeResponse } from '../../../src/kube/client.ts';
import { runCommand } from '../../support/commands/command.ts';
import type { CommandEnd } from '../../support/commands/command.ts';
import { createMaintenance, madeMaintenance, patchMaintenance } from '../../support/maintenance/calls.ts';
import { createAsNode } from '../../support/maintenance/node-writes.ts';
import { byName, maintenanceOf, ownMaintenanceOf } from '../../support/maintenance/objects.ts';
import {
  type AdmissionRig,
  assertAllowed,
  assertRefused,
  buildAdmissionRig,
  type Rule,
} from '../../support/rigs/admission.ts';
import { startTestAgent } from '../../support/rigs/test-agent.ts';
import { playLivingController } from '../../support/stand-ins/living-controller.ts';
import { waitFor } from '../../support/wait-for.ts';

const MAINTAINS: Rule = {
  apiGroups: ['nodemaintenance.x-k8s.io'],
  resources: ['nodemaintenances'],
  verbs: ['create', 'get', 'list', 'update', 'patch', 'delete'],
};
const DRAINS: Rule = { apiGroups: [''], resources: ['nodes'], verbs: ['drain'] };
const releases = (...resourceNames: readonly string[]): Rule => ({ ...DRAINS, verbs: ['release'], resourceNames });

let rig: AdmissionRig;
let drainer: KubeClient;
let releaser: KubeClient;
const stop = new AbortController();
let controller: Promise<void>;
before(async () => {
  rig = await buildAdmissionRig();
  // Its drains wait for a controller that does nothing: the machines are held.
  controller = playLivingController(rig.admin, stop.signal);
  drainer = await rig.user('drainer', [MAINTAINS, DRAINS]);
  releaser = await rig.user('releaser', [MAINTAINS, DRAINS, releases('node-a')]);
});
after(async () => {
  stop.abort();
  await controller;
  await rig[Symbol.asyncDispose]();
});

async function written(client: KubeClient, name: string, text: string | null): Promise<KubeResponse> {
  return await patchMaintenance(client, name, { metadata: { annotations: { [RELEASE_ANNOTATION]: text } } });
}

describe('the policy of what lets a machine go', () => {
  const NO_VERB = /may not release node node-[ab]/;
  const NOT_ITS_NAME = /is the name of its author, a colon, a space and a reason of at most 1024 characters/;
  const NO_SHUTDOWN = /only the maintenance of a shutdown, which an agent has made/;

  it('the verb release on that node is needed beside drain, and the text begins with the name of its author', async () => {
    const [ofA, ofB] = ['node-a', 'node-b'].map((node) => ownMaintenanceOf(node));
    for (const body of [ofA, ofB]) if (body !== undefined) assertAllowed(await createMaintenance(rig.admin, body));
    const [a, b] = ['shutdown-node-a-x', 'shutdown-node-b-x'] as const;
    assertRefused(await written(drainer, a, 'drainer: now'), NO_VERB);
    assertRefused(await written(releaser, b, 'releaser: now'), NO_VERB);
    assertRefused(await written(releaser, a, 'drainer: now'), NOT_ITS_NAME);
    assertRefused(await written(releaser, a, `releaser: ${'x'.repeat(1025)}`), NOT_ITS_NAME);
    assertAllowed(await written(releaser, a, `releaser: ${'x'.repeat(1024)}`));
    assertRefused(await written(drainer, a, null), NO_VERB);
    assertAllowed(await patchMaintenance(drainer, a, { spec: { reason: 'another field' } }));
    assertAllowed(await written(releaser, a, null));
  });

  it('no other maintenance has it, neither a new one nor one of a person', async () => {
    const annotations = { [RELEASE_ANNOTATION]: 'releaser: now' };
    const spec = { nodeSelector: byName('node-a') };
    const fresh = maintenanceOf(spec, { annotations, labels: { [AGENT_LABEL]: 'node-a' } });
    assertRefused(await createMaintenance(releaser, fresh), NO_SHUTDOWN, /are the word of the machine that goes down/);
    const ofPerson = await madeMaintenance(rig.admin, spec);
    assertRefused(await written(releaser, ofPerson, 'releaser: now'), NO_SHUTDOWN);
    const label = { [AGENT_LABEL]: 'node-a' };
    const ofTwo = await madeMaintenance(rig.admin, { nodeSelector: byName('node-a', 'node-b') }, { labels: label });
    assertRefused(await written(releaser, ofTwo, 'releaser: now'), NO_SHUTDOWN);
  });

  it('a node lets no machine go, not even its own', async () => {
    const node = await rig.user('system:node:node-c', [MAINTAINS], ['system:nodes']);
    assertAllowed(await createMaintenance(node, ownMaintenanceOf('node-c')));
    assertRefused(
      await written(node, 'shutdown-node-c-x', 'system:node:node-c: now'),
      NO_VERB,
      /may not release node node-c/,
      /may only write the annotations/,
    );
  });
});

describe('nodemaint release NODE', () => {
  const kubectl = async (...words: readonly string[]): Promise<string> => await rig.controlPlane.kubectl(words);

  it('the agent that holds the machine lets it go and says who asked; nothing happens before it is held', async () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'held' } };
    await rig.controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(node));
    const kubeconfig = await rig.controlPlane.kubeconfigFor('night-shift', []);
    await kubectl('create', 'clusterrolebinding', 'shift', '--clusterrole=nodemaint-operator', '--user=night-shift');
    const release = async (...flags: readonly string[]): Promise<CommandEnd> =>
      await runCommand([
        'release',
        'held',
        '--kubeconfig',
        kubeconfig,
        '--reason',
        'the database is stopped',
        ...flags,
      ]);
    await waitFor('the person may look, and nothing is held', async () =>
      /no shutdown of node\/held is held/.test((await release('--yes')).stderr),
    );
    await using agent = await startTestAgent(rig, 'held');
    await agent.trigger('kernel update');
    const { metadata } = await agent.open();

    const silent = await release();
    assert.deepEqual([silent.code, /write --yes/.test(silent.stderr)], [2, true], silent.stderr);
    const refused = await release('--yes');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /night-shift may not release node held/);
    assert.equal((await agent.status()).phase.kind, 'draining');

    await kubectl('create', 'clusterrolebinding', 'go', '--clusterrole=nodemaint-releaser', '--user=night-shift');
    await waitFor('the right is there', async () =>
      /yes/.test(await kubectl('auth', 'can-i', 'release', 'nodes', '--as=night-shift').catch(() => 'no')),
    );
    const done = await release('--yes', '--timeout', '60s');
    assert.deepEqual([done.code, done.stdout], [0, 'node/held released: its machine goes down\n'], done.stderr);
    const { phase } = await agent.status();
    const why = 'released through the cluster by night-shift: the database is stopped';
    assert.equal(phase.kind === 'released' && phase.forced, `${why}; it still waited for ${metadata.name}`);
    assert.ok((await agent.log()).includes(why));
    const forced = 'get events -A --field-selector reason=ShutdownForced -o jsonpath={.items[*].message}';
    await waitFor('an Event says it', async () => (await kubectl(...forced.split(' '))).includes('night-shift'));
    const again = await release('--yes');
    assert.deepEqual([again.code, again.stdout], [0, 'node/held is released already: its machine goes down\n']);
    assert.match(
      await kubectl('get', 'nm', metadata.name, '-o', 'yaml'),
      /release: 'night-shift: the database is stopped'/,
    );
  });

  it('an agent that does not hear is not said to have let go: the command ends in time, and says what to do', async () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'deaf' } };
    await rig.controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(node));
    await createAsNode(rig.controlPlane, 'deaf', ownMaintenanceOf('deaf'));
    const admin = ['release', 'deaf', '--yes', '--timeout', '1s', '--kubeconfig', rig.controlPlane.adminKubeconfig];
    const pending = await runCommand(admin);
    assert.equal(pending.code, 3, pending.stderr);
    assert.match(pending.stderr, /has not confirmed it in time.*sudo nodemaint release/);
    const again = await runCommand(admin);
    assert.equal(again.code, 3);
    assert.match(again.stdout, /nodemaintenance\/shutdown-deaf-x says it already: .*: an operator asked for it/);
  });
});
