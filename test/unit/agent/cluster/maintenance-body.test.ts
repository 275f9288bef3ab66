import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deadlineAnnotationsOf, maintenanceBody } from '../../../../src/agent/cluster/maintenance-body.ts';
import { deadlineOf } from '../../../../src/decide/deadline/maintenance.ts';
import { agentNodeOf } from '../../../../src/decide/maintenance/maintenance.ts';

const WANTED = { name: 'shutdown-a', reason: 'reboot', stage: 'Drain', drainPlan: [] } as const;
const DEADLINE = { since: 1_000_000, at: 1_060_000 };

describe('the NodeMaintenance that the agent makes', () => {
  it('the maintenance is known as the one of the agent of its node, also where the name is too long for a label', () => {
    for (const node of ['node-a', `node-${'x'.repeat(100)}`]) {
      assert.equal(agentNodeOf(maintenanceBody({ ...WANTED, name: `shutdown-${node}-0` }, node)), node);
    }
  });

  it('the maintenance has the annotations of a deadline and of the kind of a shutdown only where these are known', () => {
    assert.equal(maintenanceBody(WANTED, 'node-a').metadata.annotations, undefined);
    const known = maintenanceBody({ ...WANTED, deadline: DEADLINE, shutdownKind: 'reboot' }, 'node-a');
    assert.deepEqual(known.metadata.annotations, {
      ...deadlineAnnotationsOf(DEADLINE),
      'nodemaintenance.x-k8s.io/shutdown-kind': 'reboot',
    });
    assert.deepEqual(deadlineOf(known), DEADLINE);
  });
});
