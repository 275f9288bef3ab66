/** The startup taint on a real API server, with the controller under its own account, whose policies restrict what it may change. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AGENT_STATUS_ANNOTATION, STARTUP_TAINT } from '../../../src/api/names.ts';
import type { Node, Taint } from '../../../src/api/pod.ts';
import { type Presence, presenceText } from '../../../src/show/fleet/presence.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { waitFor } from '../../support/wait-for.ts';

const OTHER = 'node-other';
const TAINTS: readonly Taint[] = [
  { key: STARTUP_TAINT, effect: 'NoSchedule' },
  { key: 'example.com/gpu', value: 'yes', effect: 'NoSchedule' },
];

describe('the startup taint on a real API server', () => {
  let rig: EvictionRig;
  const stack = new AsyncDisposableStack();
  before(async () => {
    rig = stack.use(await buildEvictionRig());
    for (const name of [NODE, OTHER]) {
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { taints: TAINTS } };
      await rig.controlPlane.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(node));
    }
    const running = await rig.startController();
    stack.defer(() => running.stop());
  });
  after(() => stack.disposeAsync());

  /** The keys of the taints that are of the startup and of the person; Kubernetes sets others itself. */
  const taints = async (name: string): Promise<readonly string[]> => {
    const node = JSON.parse(await rig.controlPlane.kubectl(['get', 'node', name, '-o', 'json'])) as Node;
    const mine = new Set(TAINTS.map(({ key }) => key));
    return (node.spec?.taints ?? []).map(({ key }) => key).filter((key) => mine.has(key));
  };
  const report = async (name: string, lock: Presence['lock']): Promise<void> => {
    const at = new Date().toISOString();
    const words = { version: '1', phase: 'watching', config: '', reason: '', doctor: 'ok', checks: [] } as const;
    const text = presenceText({ ...words, phaseSince: at, lock, lockSince: at }, at);
    const patch = JSON.stringify({ metadata: { annotations: { [AGENT_STATUS_ANNOTATION]: text } } });
    const kubeconfig = await rig.controlPlane.kubeconfigFor(`system:node:${name}`, ['system:nodes']);
    await rig.controlPlane.kubectl(['--kubeconfig', kubeconfig, 'patch', 'node', name, '--type=merge', '-p', patch]);
  };
  const untilTaken = (name: string): Promise<void> =>
    waitFor(`${name} has lost the startup taint`, async () => !(await taints(name)).includes(STARTUP_TAINT), {
      timeoutMs: 30_000,
    });

  it('the taint stays until the agent holds the lock, and no other taint goes', async () => {
    await report(NODE, 'missing');
    await report(OTHER, 'held');
    await untilTaken(OTHER);
    assert.deepEqual(await taints(OTHER), ['example.com/gpu']);
    // The report of this one came before.
    assert.deepEqual(await taints(NODE), [STARTUP_TAINT, 'example.com/gpu']);
    await report(NODE, 'held');
    await untilTaken(NODE);
    assert.deepEqual(await taints(NODE), ['example.com/gpu']);
  });

  it('a node that has the taint while a maintenance has it cordoned loses the taint and keeps the cordon', async () => {
    const { kubectl } = rig.controlPlane;
    await kubectl(['apply', '-f', '-'], JSON.stringify(drainOf('m', [OTHER], { reason: 'test' })));
    const cordoned = async (): Promise<boolean> =>
      (await kubectl(['get', 'node', OTHER, '-o', 'jsonpath={.spec.unschedulable}'])) === 'true';
    await waitFor('the node is cordoned', cordoned, { timeoutMs: 30_000 });
    await kubectl(['taint', 'node', OTHER, `${STARTUP_TAINT}=:NoSchedule`]);
    await untilTaken(OTHER);
    assert.equal(await cordoned(), true);
  });
});
