import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { DRAINED } from '../../../src/api/node-maintenance.ts';
import { runNodemaint } from '../../support/commands/nodemaint.ts';
import {
  buildDrainNode,
  type DrainNode,
  maintenances,
  manifestsOf,
  NODE,
  startAgent,
} from '../../support/rigs/drain-node.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

interface RunningPod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses?: readonly { readonly containerID?: string; readonly restartCount: number }[];
  };
}

/** The UID, phase and container of each pod that is not of the Deployment, by name. */
async function identities({ controlPlane }: DrainNode): Promise<Readonly<Record<string, string>>> {
  const { items } = JSON.parse(await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'json'])) as {
    items: RunningPod[];
  };
  const others = items.filter(({ metadata }) => !metadata.name.startsWith('web-'));
  return Object.fromEntries(
    others.map(({ metadata, status }) => {
      const containers = status.containerStatuses?.map((each) => `${each.containerID} ${each.restartCount}`);
      return [metadata.name, [metadata.uid, status.phase, ...(containers ?? [])].join(' ')];
    }),
  );
}

async function written({ witness }: DrainNode): Promise<readonly string[]> {
  return (await readFile(path.join(witness, 'log'), 'utf8')).trim().split('\n');
}

describe('a drain that keeps kinds of pods, on a real control plane with a real kubelet', () => {
  it('kept pods keep their UID and their containers, no manifest is moved, and complete leaves all as it was', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildDrainNode(stack, { stopSec: 1 });
    await startAgent(stack, rig);
    const manifests = await manifestsOf(rig.node);
    const before = await identities(rig);
    const cluster = ['--kubeconfig', rig.controlPlane.adminKubeconfig];
    const keep = ['--keep', 'daemonsets,static', '--timeout', '50s'];
    const drain = await runNodemaint(['drain', NODE, '--reason', 'upgrade', ...keep, ...cluster]);
    assert.equal(drain.code, 0, drain.stdout + drain.stderr);
    assert.match(drain.stdout, /drained, 3 pods kept: default\/logger-\S+, kube-system\/high-\S+, kube-system\/low-/);
    assert.deepEqual(await written(rig), ['web TERM', 'web END']);
    const [maintenance] = await maintenances(rig.controlPlane);
    const drained = maintenance?.status?.conditions?.find(({ type }) => type === DRAINED);
    assert.equal(drained?.status, 'True');
    for (const name of Object.keys(before)) assert.ok(drained.message?.includes(name), `${name}: ${drained.message}`);
    assert.deepEqual(await manifestsOf(rig.node), manifests, 'nothing is parked');
    assert.deepEqual(await identities(rig), before);

    const complete = await runNodemaint(['complete', NODE, ...cluster]);
    assert.equal(complete.code, 0, complete.stdout + complete.stderr);
    const isCordoned = ['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}'];
    await waitFor('the node is uncordoned', async () => (await rig.controlPlane.kubectl(isCordoned)) === '', SLOW);
    assert.deepEqual(await manifestsOf(rig.node), manifests);
    assert.deepEqual(await identities(rig), before);
    assert.deepEqual(await written(rig), ['web TERM', 'web END'], 'no kept pod was told to end');
  });
});
