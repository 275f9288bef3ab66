import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { isGated } from '../../../src/decide/daemon-set/gate.ts';
import { withoutMutatingPolicies } from '../../control-plane/releases.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { podOfDaemonSet, setTargets } from '../../support/rigs/daemon-set.ts';
import { buildEvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

const LAST = 2_147_483_647;
const REGISTRY = { name: 'registry', hostPath: { path: '/var/lib/kubelet/plugins_registry' } };

it('the gate lets a pod that runs a driver come back until the last DaemonSet pods are targeted, whatever its priority is', {
  skip: withoutMutatingPolicies('no pod is gated'),
}, async () => {
  await using rig = await buildEvictionRig();
  const { kubectl } = rig.controlPlane;
  const getsGate = async (volumes: readonly object[]): Promise<boolean> => {
    const text = JSON.stringify(podOfDaemonSet({ app: 'any' }, NODE, undefined, volumes));
    return isGated(JSON.parse(await kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], text)) as Pod);
  };
  await kubectl(['apply', '-f', '-'], JSON.stringify(drainOf('policy', [NODE])));
  await setTargets(rig.controlPlane, 'policy', NODE, [{ podType: 'DaemonSet', podPriority: 1_000_000_000 }]);
  await waitFor('the policy knows the targets', () => getsGate([]));
  assert.equal(await getsGate([REGISTRY]), false);
  await setTargets(rig.controlPlane, 'policy', NODE, [{ podType: 'DaemonSet', podPriority: LAST }]);
  await waitFor('the policy knows that the last are targeted', () => getsGate([REGISTRY]));
});
