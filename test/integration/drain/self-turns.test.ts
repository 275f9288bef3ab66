/** Two agents, no controller: real agents with the identities of their nodes on a real API server, without kubelets. */
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { AGENT_LABEL, SHUTDOWN_KIND_ANNOTATION } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node } from '../../../src/api/pod.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import { buildEvictionRig, type EvictionRig } from '../../support/rigs/eviction.ts';
import { drainedOf } from '../../support/rigs/reboots.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

const NODES = ['turn-1', 'turn-2'];

describe('two machines that are asked to reboot at once, without a controller', () => {
  let rig: EvictionRig;
  before(async () => {
    rig = await buildEvictionRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const kubectl = (...args: readonly string[]): Promise<string> => rig.controlPlane.kubectl(args);
  const get = async <T>(...args: readonly string[]): Promise<T> =>
    JSON.parse(await kubectl('get', ...args, '-o', 'json')) as T;
  const maintenanceOn = async (node: string): Promise<NodeMaintenance | undefined> => {
    const { items } = await get<{ items: readonly NodeMaintenance[] }>('nm', '-l', `${AGENT_LABEL}=${node}`);
    return items[0];
  };
  const nameOf = async (node: string): Promise<string> => (await maintenanceOn(node))?.metadata.name ?? '';
  const hasBegun = async (node: string): Promise<boolean> =>
    (await maintenanceOn(node))?.status?.nodeStatuses?.[0]?.drainPlanPosition !== undefined;
  const isCordoned = async (node: string): Promise<boolean> =>
    (await get<Node>('node', node)).spec?.unschedulable === true;

  it('the second machine waits, says for whom and stays schedulable, until the first is back', async () => {
    await using stack = new AsyncDisposableStack();
    const runs = new Map<string, string>();
    // The Lease of a controller that died: the agents look at it for 15 s before they drain.
    await rig.controlPlane.kubectl(
      ['apply', '-f', '-'],
      JSON.stringify({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'nodemaint-controller', namespace: 'nodemaint-system' },
        spec: { holderIdentity: 'dead', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' },
      }),
    );
    for (const node of NODES) {
      await rig.controlPlane.kubectl(
        ['apply', '-f', '-'],
        JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: node } }),
      );
      await rig.createPod(`pod-${node}`, {}, { nodeName: node });
      const folder = path.join(rig.folder, node);
      await mkdir(path.join(folder, 'manifests'), { recursive: true });
      const kubeconfig = await rig.controlPlane.kubeconfigFor(`system:node:${node}`, ['system:nodes']);
      const keys = { nodeName: node, kubeconfig, kubeletUnit: '', apiWaitSec: 5 };
      const { configFile, runDirectory } = await writeAgentFiles(folder, keys);
      runs.set(node, runDirectory);
      const program = stack.use(startNodemaint(['agent', '--config', configFile], path.join(folder, 'agent.log')));
      const hasHeard = async (): Promise<boolean> =>
        (await readAgentStatus(runDirectory)).cluster.heardAt !== undefined;
      await waitFor('the agent has heard of the API server', hasHeard, { ...SLOW, program });
    }
    for (const node of NODES) {
      const { code, stderr } = await runNodemaint([
        'trigger',
        '--reason',
        'kernel update',
        '--run-directory',
        runs.get(node) ?? '',
      ]);
      assert.equal(code, 0, stderr);
      await waitFor('the agent has made its maintenance', async () => (await nameOf(node)) !== '', SLOW);
      // A trigger does not say how the machine goes down; logind would have.
      await kubectl('annotate', 'nm', await nameOf(node), `${SHUTDOWN_KIND_ANNOTATION}=reboot`);
    }
    await waitFor('the first begins', () => hasBegun('turn-1'), SLOW);
    const waits =
      /^Waiting: Waiting for its turn to reboot since \S+: turn-1 goes first, because of the missing controller/u;
    const isWaiting = async (): Promise<boolean> => waits.test(drainedOf(await maintenanceOn('turn-2')));
    await waitFor('the second says for whom it waits', isWaiting, SLOW);
    const { stdout } = await runNodemaint(['status', '--run-directory', runs.get('turn-2') ?? '']);
    assert.match(stdout, /its turn to reboot/u);
    assert.match(stdout, /turn-1 goes first/u);
    await waitFor('the first is cordoned', () => isCordoned('turn-1'), SLOW);
    assert.equal(await isCordoned('turn-2'), false);
    assert.equal(await hasBegun('turn-2'), false);

    await rig.endPod('pod-turn-1');
    const isDrained = async (): Promise<boolean> =>
      drainedOf(await maintenanceOn('turn-1')).startsWith('DrainCompleted');
    await waitFor('the first is drained', isDrained, SLOW);
    assert.equal(await hasBegun('turn-2'), false, 'the machine is not back yet');
    await kubectl('patch', 'nm', await nameOf('turn-1'), '--type=merge', '-p', '{"spec":{"stage":"Complete"}}');
    await waitFor('the second begins', () => hasBegun('turn-2'), SLOW);
    await waitFor('it is cordoned', () => isCordoned('turn-2'), SLOW);
  });
});
