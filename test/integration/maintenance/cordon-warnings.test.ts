import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NodeCondition } from '../../../src/api/pod.ts';
import { NODES, objectPath } from '../../../src/kube/resource.ts';
import { type AdmissionRig, assertAllowed, buildAdmissionRig, send } from '../../support/rigs/admission.ts';
import { waitFor } from '../../support/wait-for.ts';

const UNDER_MAINTENANCE: NodeCondition = {
  type: 'MaintenanceInProgress',
  status: 'True',
  reason: 'NodeMaintenance',
  message: 'under maintenance by firmware',
};

describe('a node that a person cordons or uncordons', () => {
  let rig: AdmissionRig;
  before(async () => {
    rig = await buildAdmissionRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  /** Makes a node with a condition and annotations, sets the cordon, and returns what the API server warns of. */
  async function warnings(
    condition: NodeCondition,
    from: boolean,
    to: boolean,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const name = `n-${crypto.randomUUID()}`;
    const kind = { apiVersion: 'v1', kind: 'Node' };
    const body = { ...kind, metadata: { name, annotations }, spec: { unschedulable: from } };
    assertAllowed(await send(rig.admin, { method: 'POST', path: '/api/v1/nodes', body }));
    const patch = { kind: 'strategic' } as const;
    const status = { status: { conditions: [condition] } };
    const path = objectPath(NODES, { name });
    assertAllowed(await send(rig.admin, { method: 'PATCH', path: `${path}/status`, body: status, patch }));
    const change = { spec: { unschedulable: to } };
    const response = await send(rig.admin, { method: 'PATCH', path, body: change, patch });
    assertAllowed(response);
    return String(response.headers['warning'] ?? '');
  }

  it('the API server warns of an uncordon that the maintenance will undo, and names the maintenance', async () => {
    const isWarned = async (): Promise<boolean> => (await warnings(UNDER_MAINTENANCE, true, false)) !== '';
    await waitFor('the policy is in force', isWarned, { timeoutMs: 20_000 });
    const said = await warnings(UNDER_MAINTENANCE, true, false);
    assert.match(said, /is under maintenance by firmware: it will be cordoned again at once/);
  });

  it('the API server warns of a cordon that the maintenance sets in any case', async () => {
    assert.match(
      await warnings(UNDER_MAINTENANCE, false, true),
      /is under maintenance by firmware, which cordons it in any case/,
    );
  });

  it('the API server warns from the cordon on, before any condition says that the node is under maintenance', async () => {
    const none = { ...UNDER_MAINTENANCE, status: 'False' } as const;
    const cordoned = await warnings(none, true, false, { 'nodemaintenance.x-k8s.io/cordoned': 'firmware' });
    assert.match(cordoned, /is under maintenance by firmware: it will be cordoned again at once/);
    const noted = await warnings(none, true, false, { 'nodemaintenance.x-k8s.io/maintenances': '{}' });
    assert.match(noted, /is under maintenance: it will be cordoned again at once/);
  });

  it('the API server gives no warning without a maintenance of ours, or where the cordon stays as it is', async () => {
    assert.equal(await warnings(UNDER_MAINTENANCE, true, true), '');
    for (const [from, to] of [
      [true, false],
      [false, true],
    ] as const) {
      assert.equal(await warnings({ ...UNDER_MAINTENANCE, status: 'False' }, from, to), '');
      assert.equal(await warnings({ ...UNDER_MAINTENANCE, reason: 'AdminRequested' }, from, to), '');
    }
  });
});
