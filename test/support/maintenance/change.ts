import assert from 'node:assert/strict';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { MemoryCluster } from '../stand-ins/memory-cluster.ts';

/** Somebody changes fields of the spec and of the metadata of a maintenance in the cluster. */
export function changeMaintenance(cluster: MemoryCluster, name: string, spec: object, metadata: object = {}): void {
  const known = cluster.get('Maintenance', name);
  assert.ok(known !== undefined);
  const annotated = { ...known.metadata, ...metadata };
  cluster.put('Maintenance', { ...known, metadata: annotated, spec: { ...known.spec, ...spec } } as NodeMaintenance);
}
