/** What the API server lets a node say of its Machine, and what `nodemaint cluster-api` makes of it. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Machine } from '../../../../src/api/machine.ts';
import { collectionPath, NODE_MAINTENANCES, NODES, objectPath } from '../../../../src/kube/resource.ts';
import { startNodemaint } from '../../commands/nodemaint.ts';
import { makeTestFolder } from '../../folder.ts';
import { byName, maintenanceOf } from '../../maintenance/objects.ts';
import { SLOW, waitFor } from '../../wait-for.ts';
import { allowed, type Attack, type Family, sendAs } from '../attack.ts';
import { patched, type Scene, SYSTEM } from '../scene.ts';
import { make } from '../steps.ts';
import { HOOK, MACHINES } from './cluster-api.ts';
import { ACCOUNT_GROUPS } from './objects.ts';

/** Two looks of the add-on. */
const WATCHED_MS = 4_500;

/** What a node says of its Machine. */
function naming(machine: string): object {
  const annotations = { 'cluster.x-k8s.io/machine': machine, 'cluster.x-k8s.io/cluster-namespace': 'default' };
  return { metadata: { annotations } };
}

async function isHooked({ clients }: Scene, name: string): Promise<boolean> {
  const where = objectPath(MACHINES, { name, namespace: 'default' });
  const { body } = await sendAs(clients.admin, { method: 'GET', path: where });
  return (body as Machine).metadata.annotations?.[HOOK] !== undefined;
}

/** While nodes n1 and n2 are drained and n3 is not, n1 names the Machine, and the add-on begins and looks at least twice. */
async function named(scene: Scene, machine: string, check: () => Promise<void>): Promise<void> {
  const node = objectPath(NODES, { name: 'n1' });
  const body = naming(machine);
  const said = await sendAs(scene.clients.n1, { method: 'PATCH', path: node, body, patch: { kind: 'merge' } });
  assert.equal(said.status, 200, 'the API server does not refuse it');
  const metadata = { name: `names-${machine}` };
  const drain = maintenanceOf({ stage: 'Drain', nodeSelector: byName('n1', 'n2') }, metadata);
  await make(scene, 'admin', collectionPath(NODE_MAINTENANCES), drain);
  const folder = await makeTestFolder('cluster-api');
  try {
    const account = `system:serviceaccount:${SYSTEM}:nodemaint-cluster-api`;
    const kubeconfig = await scene.controlPlane.kubeconfigFor(account, ACCOUNT_GROUPS);
    await using program = startNodemaint(['cluster-api', '--kubeconfig', kubeconfig], path.join(folder, 'log'));
    const areHooked = async (): Promise<boolean> => (await isHooked(scene, 'm-n1')) && (await isHooked(scene, 'm-n2'));
    await waitFor('the Machines of n1 and n2 wait', areHooked, { ...SLOW, program });
    const until = performance.now() + WATCHED_MS;
    while (performance.now() < until) {
      await check();
      await delay(500);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const ATTACKS: readonly Attack[] = [
  {
    name: 'names the Machine of n3 in the annotations of its own node, so that it is kept',
    refusedBy: 'nodemaint cluster-api: a Machine belongs to the node that its own status names',
    attempt: (scene) =>
      named(scene, 'm-n3', async () => {
        assert.equal(await isHooked(scene, 'm-n3'), false);
      }),
  },
  {
    name: 'names the Machine of n2 beside n2, so that it is not kept',
    refusedBy: 'nodemaint cluster-api: a Machine belongs to the node that its own status names',
    attempt: (scene) =>
      named(scene, 'm-n2', async () => {
        assert.equal(await isHooked(scene, 'm-n2'), true);
      }),
  },
];

/** They are carried out, while the controller runs. */
export const MACHINE_CONSEQUENCES: Family = {
  attacker: 'n1',
  title: 'Machines of Cluster API',
  control: allowed('n1', 'names its own Machine', () => patched(NODES, { name: 'n1' }, naming('m-n1'))),
  attacks: ATTACKS,
};
