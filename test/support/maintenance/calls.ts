import type { NodeMaintenance, NodeMaintenanceSpec } from '../../../src/api/node-maintenance.ts';
import type { KubeClient, KubeResponse } from '../../../src/kube/client.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath } from '../../../src/kube/resource.ts';
import { assertAllowed, send } from '../rigs/admission.ts';
import { maintenanceOf } from './objects.ts';

/** Sends a new maintenance; with dryRun it is judged and not stored. */
export async function createMaintenance(
  client: KubeClient,
  body: NodeMaintenance,
  how: 'stored' | 'dryRun' = 'stored',
): Promise<KubeResponse> {
  const path = `${collectionPath(NODE_MAINTENANCES)}${how === 'dryRun' ? '?dryRun=All' : ''}`;
  return await send(client, { method: 'POST', path, body });
}

/** Makes a maintenance as it is wanted, and returns its name. */
export async function madeMaintenance(
  client: KubeClient,
  spec: Readonly<Record<string, unknown>> = {},
  metadata: object = {},
): Promise<string> {
  const body = maintenanceOf(spec, metadata);
  assertAllowed(await createMaintenance(client, body));
  return body.metadata.name;
}

/** Changes fields of a maintenance by merge patch; null takes a field away. */
export async function patchMaintenance(client: KubeClient, name: string, body: object): Promise<KubeResponse> {
  return await send(client, {
    method: 'PATCH',
    path: objectPath(NODE_MAINTENANCES, { name }),
    body,
    patch: { kind: 'merge' },
  });
}

/** Deletes a maintenance, as far as its finalizers let it. */
export async function deleteMaintenance(client: KubeClient, name: string): Promise<KubeResponse> {
  return await send(client, { method: 'DELETE', path: objectPath(NODE_MAINTENANCES, { name }) });
}

/** The spec of a maintenance in an answer. */
export function specOf(response: KubeResponse): NodeMaintenanceSpec {
  assertAllowed(response);
  return (response.body as NodeMaintenance).spec;
}
