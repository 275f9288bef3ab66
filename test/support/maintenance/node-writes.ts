import type { KubeClient, KubeResponse } from '../../../src/kube/client.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { AGENT_LABEL } from '../../../src/api/names.ts';
import { NODE_MAINTENANCES, objectPath } from '../../../src/kube/resource.ts';
import { assertAllowed, send } from '../rigs/admission.ts';
import { createMaintenance } from './calls.ts';
import { byName, maintenanceOf } from './objects.ts';

/** A maintenance as the agent of `node` makes it, with other fields in its metadata and spec. */
export function ownMaintenanceOf(node: string, metadata: object = {}, spec: object = {}): NodeMaintenance {
  const own = { name: `shutdown-${node}-x`, labels: { [AGENT_LABEL]: node }, ...metadata };
  return maintenanceOf({ stage: 'Drain', nodeSelector: byName(node), ...spec }, own);
}

/** Makes such a maintenance and returns its name. */
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
