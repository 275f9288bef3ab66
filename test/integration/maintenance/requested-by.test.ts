/** Who asked for a maintenance is written on it, and nobody can say otherwise. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { REQUESTED_BY_ANNOTATION } from '../../../src/api/names.ts';
import type { KubeClient, KubeResponse } from '../../../src/kube/client.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath } from '../../../src/kube/resource.ts';
import { hasMutatingPolicies, withoutMutatingPolicies } from '../../control-plane/releases.ts';
import {
  type AdmissionRig,
  assertAllowed,
  assertRefused,
  buildAdmissionRig,
  type Rule,
  send,
} from '../../support/rigs/admission.ts';
import { createMaintenance, madeMaintenance, patchMaintenance } from '../../support/maintenance/calls.ts';
import { runCommand } from '../../support/commands/command.ts';
import { maintenanceOf, ownMaintenanceOf } from '../../support/maintenance/objects.ts';
import { eventually, waitFor } from '../../support/wait-for.ts';

const DRAINS: readonly Rule[] = [
  { apiGroups: ['nodemaintenance.x-k8s.io'], resources: ['nodemaintenances'], verbs: ['*'] },
  { apiGroups: [''], resources: ['nodes'], verbs: ['drain', 'list', 'get'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'get'] },
];
const OTHERS = /requested-by names who creates the NodeMaintenance, and nobody else/;
const CHANGED = /requested-by of a NodeMaintenance cannot be changed/;

let rig: AdmissionRig;
let alice: KubeClient;
before(async () => {
  rig = await buildAdmissionRig();
  alice = await rig.user('alice', DRAINS);
  if (!hasMutatingPolicies()) return;
  await waitFor('the policy writes the name', async () => writtenOn(await dry(alice)) === 'alice');
});
after(async () => {
  await rig[Symbol.asyncDispose]();
});

function writtenOn({ body }: KubeResponse): string | undefined {
  return (body as NodeMaintenance).metadata.annotations?.[REQUESTED_BY_ANNOTATION];
}

async function dry(client: KubeClient, annotations: object = {}): Promise<KubeResponse> {
  return await createMaintenance(client, maintenanceOf({}, { annotations }), 'dryRun');
}

/** Made in a dry run by the administrator as another user. */
async function madeAs(user: string): Promise<KubeResponse> {
  const path = `${collectionPath(NODE_MAINTENANCES)}?dryRun=All`;
  return await send(rig.admin, { method: 'POST', path, body: maintenanceOf(), as: user });
}

const claims = (user: string): object => ({ [REQUESTED_BY_ANNOTATION]: user });

describe('who asked for a maintenance, where a policy writes it', {
  skip: withoutMutatingPolicies('nobody writes the name'),
}, () => {
  it('the name of the user is written, also over the name of another, and in a dry run', async () => {
    const stored = await createMaintenance(alice, maintenanceOf());
    assertAllowed(stored);
    assert.equal(writtenOn(stored), 'alice');
    assert.equal(writtenOn(await dry(alice)), 'alice');
    assert.equal(writtenOn(await dry(alice, claims('bob'))), 'alice');
    const beside = await dry(alice, { 'example.com/x': 'y' });
    assert.equal(writtenOn(beside), 'alice');
    assert.equal((beside.body as NodeMaintenance).metadata.annotations?.['example.com/x'], 'y');
  });

  it('an impersonation shows the user who is impersonated', async () => {
    assert.equal(writtenOn(await madeAs('alice')), 'alice');
  });

  it('of a very long name the first 256 characters are written', async () => {
    const user = `u-${'x'.repeat(400)}`;
    const binding = ['create', 'clusterrolebinding', 'long', '--clusterrole=cluster-admin', `--user=${user}`];
    await rig.controlPlane.kubectl(binding);
    const made = async (): Promise<KubeResponse> => await madeAs(user);
    await waitFor('the right is there', async () => (await made()).status === 201);
    assert.equal(writtenOn(await made()), `u-${'x'.repeat(254)}`);
  });

  it('the maintenance of an agent has no such annotation: its shutdown waits for no policy that mutates', async () => {
    const node = await rig.user('system:node:node-r', DRAINS, ['system:nodes']);
    const made = await createMaintenance(node, ownMaintenanceOf('node-r'));
    assertAllowed(made);
    assert.equal(writtenOn(made), undefined);
  });

  it('the name stays when a manifest without it replaces the object, and "kubectl get -o wide" has it', async () => {
    const created = await createMaintenance(alice, maintenanceOf({ reason: 'kernel' }));
    const { metadata, ...rest } = created.body as NodeMaintenance;
    const { annotations: _, ...bare } = metadata;
    const path = objectPath(NODE_MAINTENANCES, { name: metadata.name });
    const replaced = await send(rig.admin, { method: 'PUT', path, body: { ...rest, metadata: bare } });
    assertAllowed(replaced);
    assert.equal(writtenOn(replaced), 'alice');
    await eventually(async () => {
      assert.match(await rig.controlPlane.kubectl(['get', 'nm', metadata.name, '-o', 'wide']), / alice /);
    });
    const shown = await runCommand(['status', `nm/${metadata.name}`, '--kubeconfig', rig.controlPlane.adminKubeconfig]);
    assert.match(shown.stdout, /Idle.*, asked for by alice: kernel/);
  });
});

describe('who asked for a maintenance', () => {
  it('nobody changes it, or adds it later', async () => {
    const named = await createMaintenance(alice, maintenanceOf({}, { annotations: claims('alice') }));
    assertAllowed(named);
    const { name } = (named.body as NodeMaintenance).metadata;
    for (const client of [alice, rig.admin])
      assertRefused(await patchMaintenance(client, name, { metadata: { annotations: claims('bob') } }), CHANGED);
    assertAllowed(await patchMaintenance(alice, name, { spec: { reason: 'another' } }));
    const policy = 'mutatingadmissionpolicybinding/nodemaint-requested-by';
    if (!hasMutatingPolicies()) {
      assertRefused(await dry(alice, claims('bob')), OTHERS);
      const bare = await madeMaintenance(rig.admin);
      assertRefused(await patchMaintenance(alice, bare, { metadata: { annotations: claims('alice') } }), CHANGED);
      return;
    }
    // Without the policy that writes it, a name that is false is refused.
    await rig.controlPlane.kubectl(['delete', policy]);
    await waitFor('the name of another is refused', async () => (await dry(alice, claims('bob'))).status === 403);
    assertRefused(await dry(alice, claims('bob')), OTHERS);
    assertAllowed(await dry(alice, claims('alice')));
    const bare = await madeMaintenance(rig.admin);
    assertRefused(await patchMaintenance(alice, bare, { metadata: { annotations: claims('alice') } }), CHANGED);
  });
});
