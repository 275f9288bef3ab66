import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NodeSelector } from '../../../src/api/meta.ts';
import type { KubeClient, KubeResponse } from '../../../src/kube/client.ts';
import { hasMutatingPolicies, withoutMutatingPolicies } from '../../control-plane/releases.ts';
import {
  type AdmissionRig,
  assertAllowed,
  assertRefused,
  buildAdmissionRig,
  type Rule,
  send,
} from '../../support/rigs/admission.ts';
import {
  createMaintenance,
  deleteMaintenance,
  madeMaintenance,
  patchMaintenance,
  specOf,
} from '../../support/maintenance/calls.ts';
import { runCommand } from '../../support/commands/command.ts';
import { eventually, waitFor } from '../../support/wait-for.ts';
import { byName, maintenanceOf, ownMaintenanceOf } from '../../support/maintenance/objects.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { REQUESTED_BY_ANNOTATION } from '../../../src/api/names.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath } from '../../../src/kube/resource.ts';

const FINALIZER = 'nodemaintenance.k8s.io/maintenance-completion';
const MAINTAINS: Rule = {
  apiGroups: ['nodemaintenance.x-k8s.io'],
  resources: ['nodemaintenances'],
  verbs: ['create', 'get', 'list', 'update', 'patch', 'delete', 'deletecollection'],
};
const drainsNodes = (...resourceNames: readonly string[]): Rule => ({
  ...deletesNodes(...resourceNames),
  verbs: ['drain'],
});
const deletesNodes = (...resourceNames: readonly string[]): Rule => ({
  apiGroups: [''],
  resources: ['nodes'],
  verbs: ['delete'],
  ...(resourceNames.length === 0 ? {} : { resourceNames }),
});
const TWELVE = Array.from({ length: 12 }, (_, index) => `rack-${index}`);
const EVERYWHERE: NodeSelector = {
  nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] }],
};

let rig: AdmissionRig;
let nobody: KubeClient;
let ofNodeA: KubeClient;
let ofRack: KubeClient;
let ofAll: KubeClient;
before(async () => {
  rig = await buildAdmissionRig();
  nobody = await rig.user('nobody', [MAINTAINS]);
  ofNodeA = await rig.user('keeper-of-a', [MAINTAINS, deletesNodes('node-a')]);
  ofRack = await rig.user('keeper-of-rack', [MAINTAINS, deletesNodes(...TWELVE, 'rack-12')]);
  ofAll = await rig.user('keeper-of-all', [MAINTAINS, deletesNodes()]);
  alice = await rig.user('alice', DRAINS);
  if (!hasMutatingPolicies()) return;
  await waitFor('the policy writes the name', async () => writtenOn(await dry(alice)) === 'alice');
});
after(async () => {
  await rig[Symbol.asyncDispose]();
});

async function asked(client: KubeClient, nodeSelector: NodeSelector): ReturnType<typeof createMaintenance> {
  return await createMaintenance(client, maintenanceOf({ nodeSelector }), 'dryRun');
}

describe('the rights of a user who makes, changes or deletes a NodeMaintenance', () => {
  it('the user must be allowed to delete the node, by name', async () => {
    assertRefused(
      await asked(nobody, byName('node-a')),
      /nobody may not create this NodeMaintenance, because it may not drain node node-a$/,
    );
    assertAllowed(await asked(ofNodeA, byName('node-a')));
    assertRefused(await asked(ofNodeA, byName('node-b')), /may not drain node node-b$/);
    assertAllowed(await asked(ofAll, byName('node-b')));
  });

  it('the verb drain on nodes counts as delete does, by name, for twelve nodes and for all', async () => {
    const onCall = await rig.user('on-call', [MAINTAINS, drainsNodes('node-a')]);
    assertAllowed(await asked(onCall, byName('node-a')));
    assertRefused(
      await asked(onCall, byName('node-a', 'node-b')),
      /on-call may not create .* may not drain node node-b$/,
    );
    const rack = await rig.user('on-call-of-rack', [MAINTAINS, drainsNodes(...TWELVE)]);
    assertAllowed(await asked(rack, byName(...TWELVE)));
    assertRefused(await asked(rack, byName(...TWELVE, 'rack-12')), /more than 12 need the right to drain all nodes$/);
    const operator = await rig.user('on-call-of-all', [MAINTAINS, drainsNodes()]);
    assertAllowed(await asked(operator, EVERYWHERE));
    const name = await madeMaintenance(rig.admin);
    assertAllowed(await patchMaintenance(onCall, name, { spec: { stage: 'Drain' } }));
    assertAllowed(await deleteMaintenance(onCall, name));
  });

  it('whoever has the role nodemaint-operator drains all nodes, and may not delete a node', async () => {
    const kubeconfig = await rig.controlPlane.kubeconfigFor('night-shift', []);
    const binding = [
      'create',
      'clusterrolebinding',
      'night-shift',
      '--clusterrole=nodemaint-operator',
      '--user=night-shift',
    ];
    await rig.controlPlane.kubectl(binding);
    const can = async (verb: string): Promise<string> =>
      await rig.controlPlane.kubectl(['auth', 'can-i', verb, 'nodes', '--as=night-shift']).catch(() => 'no');
    assert.equal((await can('drain')).trim(), 'yes');
    assert.equal(await can('delete'), 'no');
    await rig.controlPlane.kubectl(
      ['create', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-o' } }),
    );
    const drain = ['drain', 'node-o', '--no-wait', '--kubeconfig', kubeconfig];
    await waitFor('the right is there', async () => (await runCommand([...drain, '--dry-run'])).code === 0);
    const asked = await runCommand(drain);
    assert.equal(asked.code, 0, asked.stderr);
  });

  it('the user must be allowed to delete every one of the nodes that are named, in whatever term', async () => {
    assertRefused(await asked(ofNodeA, byName('node-a', 'node-b')), /may not drain node node-b$/);
    const terms = [...byName('node-a').nodeSelectorTerms, ...byName('node-c').nodeSelectorTerms];
    assertRefused(await asked(ofNodeA, { nodeSelectorTerms: terms }), /may not drain node node-c$/);
    for (const [index] of TWELVE.entries()) {
      const names = TWELVE.with(index, 'node-a');
      assertRefused(await asked(ofRack, byName(...names)), /may not drain node node-a$/);
    }
    assertAllowed(await asked(ofRack, byName(...TWELVE)));
  });

  it('the user must be allowed to delete all nodes where more than twelve are named', async () => {
    const thirteen = byName(...TWELVE, 'rack-12');
    assertRefused(await asked(ofRack, thirteen), /it names 13 nodes: more than 12 need the right to drain all nodes$/);
    assertAllowed(await asked(ofAll, thirteen));
  });

  it('the user must be allowed to delete all nodes where any term does not name its nodes', async () => {
    const notIn = { matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['node-a'] }] };
    const selectors: readonly NodeSelector[] = [
      EVERYWHERE,
      { nodeSelectorTerms: [...byName('node-a').nodeSelectorTerms, ...EVERYWHERE.nodeSelectorTerms] },
      { nodeSelectorTerms: [notIn] },
    ];
    for (const selector of selectors) {
      assertRefused(await asked(ofNodeA, selector), /because it may not drain all nodes: only nodes that are named/);
      assertAllowed(await asked(ofAll, selector));
    }
  });

  it('the user needs the right for no more than the nodes that are named where a term has labels as well', async () => {
    const narrowed = { ...byName('node-a').nodeSelectorTerms[0], ...EVERYWHERE.nodeSelectorTerms[0] };
    assertAllowed(await asked(ofNodeA, { nodeSelectorTerms: [narrowed] }));
  });

  it('the user needs the right to change or delete a maintenance as well', async () => {
    const name = await madeMaintenance(rig.admin);
    for (const body of [{ spec: { stage: 'Drain' } }, { metadata: { labels: { a: 'b' } } }]) {
      assertRefused(
        await patchMaintenance(nobody, name, body),
        /nobody may not update this .* may not drain node node-a$/,
      );
      assertAllowed(await patchMaintenance(ofNodeA, name, body));
    }
    assertRefused(await deleteMaintenance(nobody, name), /nobody may not delete this .* may not drain node node-a$/);
    assertAllowed(await deleteMaintenance(ofNodeA, name));
  });
});

describe('the names of shutdowns and notices', () => {
  it('the names belong to the agents: no user makes a maintenance under one, given or generated', async () => {
    const words = /begin with shutdown- or notice- belong to the agents of the nodes/;
    for (const metadata of [
      { name: 'shutdown-node-a-5' },
      { name: 'notice-node-b-5' },
      { name: undefined, generateName: 'shutdown-node-a-' },
    ])
      assertRefused(await createMaintenance(ofAll, maintenanceOf({}, metadata), 'dryRun'), words);
  });
});

describe('the controller', () => {
  it('the controller adds and removes its finalizer, and completes what is deleted, without the right to delete nodes', async () => {
    const name = await madeMaintenance(rig.admin, { stage: 'Drain', nodeSelector: EVERYWHERE });
    assertAllowed(await patchMaintenance(rig.controller, name, { metadata: { finalizers: [FINALIZER] } }));
    assertAllowed(await deleteMaintenance(rig.admin, name));
    assert.equal(
      specOf(await patchMaintenance(rig.controller, name, { spec: { stage: 'Complete' } })).stage,
      'Complete',
    );
    assertAllowed(await patchMaintenance(rig.controller, name, { metadata: { finalizers: null } }));
    assert.equal((await patchMaintenance(rig.admin, name, {})).status, 404);
  });

  it('the controller begins nothing, completes nothing that is not deleted, and changes nothing else', async () => {
    const name = await madeMaintenance(rig.admin);
    for (const spec of [{ stage: 'Drain' }, { stage: 'Complete' }, { reason: 'mine' }]) {
      assertRefused(
        await patchMaintenance(rig.controller, name, { spec }),
        /nodemaint-controller may not update this .* may not drain node node-a$/,
        /the controller may only complete a NodeMaintenance that is deleted, or a shutdown/,
      );
    }
    assertRefused(await deleteMaintenance(rig.controller, name), /forbidden|cannot delete/);
    assertRefused(await createMaintenance(rig.controller, maintenanceOf()), /cannot create/);
  });

  it('the exception of the controller does not extend to others who may patch a maintenance', async () => {
    const name = await madeMaintenance(rig.admin, { stage: 'Drain' }, { finalizers: [FINALIZER] });
    assertAllowed(await deleteMaintenance(rig.admin, name));
    for (const body of [{ spec: { stage: 'Complete' } }, { metadata: { finalizers: null } }]) {
      assertRefused(await patchMaintenance(nobody, name, body), /nobody may not update this NodeMaintenance/);
    }
    assertAllowed(await patchMaintenance(rig.admin, name, { metadata: { finalizers: null } }));
  });
});

describe('a node', () => {
  it('a node makes, completes and deletes its own maintenance, and no other', async () => {
    const node = await rig.user('system:node:node-n', [], ['system:nodes']);
    const body = ownMaintenanceOf('node-n');
    const { drainPlan } = specOf(await createMaintenance(node, body));
    assert.equal(drainPlan?.length, hasMutatingPolicies() ? 12 : undefined);
    const { name } = body.metadata;
    assertAllowed(await patchMaintenance(node, name, { spec: { stage: 'Complete' } }));
    assertAllowed(await deleteMaintenance(node, name));
    assertRefused(
      await asked(node, byName('node-a')),
      /a node may only create NodeMaintenances with the name/,
      /a node may only create, change or delete a NodeMaintenance that selects itself alone/,
    );
  });

  it("the name of a node gives a user outside the nodes' group no way around the right to delete nodes", async () => {
    const impostor = await rig.user('system:node:node-a', [MAINTAINS]);
    assertRefused(await asked(impostor, byName('node-a')), /may not drain node node-a$/);
  });
});

const DRAINS: readonly Rule[] = [
  { apiGroups: ['nodemaintenance.x-k8s.io'], resources: ['nodemaintenances'], verbs: ['*'] },
  { apiGroups: [''], resources: ['nodes'], verbs: ['drain', 'list', 'get'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'get'] },
];
const OTHERS = /requested-by names who creates the NodeMaintenance, and nobody else/;
const CHANGED = /requested-by of a NodeMaintenance cannot be changed/;

let alice: KubeClient;
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
