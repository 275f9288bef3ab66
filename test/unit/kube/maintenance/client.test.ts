import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { KubeClient } from '../../../../src/kube/client.ts';
import { createMaintenanceClient } from '../../../../src/kube/maintenance/client.ts';

it('a change of a maintenance that was replaced since it was read is none, so that it is read again', async () => {
  const body = { message: 'field is immutable', details: { causes: [{ field: 'metadata.uid' }] } };
  const client = { send: () => Promise.resolve({ status: 422, headers: {}, body }) } as unknown as KubeClient;
  const known = { metadata: { name: 'm', uid: 'u-1' }, spec: { nodeSelector: { nodeSelectorTerms: [] } } };
  const maintenances = createMaintenanceClient(client, () => undefined);
  const { signal } = new AbortController();
  assert.equal(await maintenances.change(known, { spec: { stage: 'Complete' } }, false, signal), undefined);
});
