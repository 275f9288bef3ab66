import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { KubeClient, KubeResponse } from '../../../src/kube/client.ts';
import { NODE_MAINTENANCES, objectPath } from '../../../src/kube/resource.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { assertAllowed, send } from '../rigs/admission.ts';
import { createMaintenance } from './calls.ts';
import { ownMaintenanceOf } from './objects.ts';

/** Makes a maintenance as the agent of `node` makes it, and returns its name. */
export async function madeOwn(client: KubeClient, node: string, metadata: object = {}): Promise<string> {
  const body = ownMaintenanceOf(node, metadata);
  assertAllowed(await createMaintenance(client, body));
  return body.metadata.name;
}

/** Writes fields of the status of a maintenance by merge patch. */
export async function patchMaintenanceStatus(client: KubeClient, name: string, status: object): Promise<KubeResponse> {
  const path = objectPath(NODE_MAINTENANCES, { name }, 'status');
  return await send(client, { method: 'PATCH', path, body: { status }, patch: { kind: 'merge' } });
}

/** Makes the maintenance in the name of the node, as its agent does: admission names everybody else in it. */
export async function createAsNode(
  { kubectl }: Pick<ControlPlane, 'kubectl'>,
  node: string,
  maintenance: NodeMaintenance,
): Promise<void> {
  const as = [`--as=system:node:${node}`, '--as-group=system:nodes'];
  await kubectl(['create', ...as, '-f', '-'], JSON.stringify(maintenance));
}
