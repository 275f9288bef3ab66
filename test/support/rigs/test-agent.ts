/** An agent on a real API server that has nothing but its node's name: its shutdown is what a test makes of it. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AgentStatus } from '../../../src/agent/control/status.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { listAll } from '../../../src/kube/list.ts';
import { collectionPath, NODE_MAINTENANCES } from '../../../src/kube/resource.ts';
import { writeAgentFiles } from '../agent/files.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../commands/nodemaint.ts';
import { waitFor } from '../wait-for.ts';
import type { AdmissionRig } from './admission.ts';

/** An agent of a node without pods, kubelet, runtime and lock. */
export interface TestAgent extends AsyncDisposable {
  readonly node: string;
  status(): Promise<AgentStatus>;
  log(): Promise<string>;
  trigger(reason: string): Promise<void>;
  /** The drains that the agent has, open or not. */
  own(): Promise<readonly NodeMaintenance[]>;
  /** Waits until it has exactly one open drain, of another name than `not`. */
  open(not?: readonly string[]): Promise<NodeMaintenance>;
}

/** An agent of a node without pods, kubelet, runtime and lock: its shutdown ends when its maintenance says so. */
export async function startTestAgent(
  rig: Pick<AdmissionRig, 'admin' | 'controlPlane'>,
  node: string,
): Promise<TestAgent> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-own-'));
  const kubeconfig = await rig.controlPlane.kubeconfigFor(`system:node:${node}`, ['system:nodes']);
  const keys = { nodeName: node, kubeconfig, kubeletUnit: '', apiWaitSec: 5 };
  const { configFile, runDirectory } = await writeAgentFiles(folder, keys);
  await mkdir(path.join(folder, 'manifests'));
  const logFile = path.join(folder, 'agent.log');
  const program = startNodemaint(['agent', '--config', configFile], logFile);
  const agent: TestAgent = {
    node,
    status: () => readAgentStatus(runDirectory),
    log: () => readFile(logFile, 'utf8'),
    trigger: async (reason) => {
      const { code, stderr } = await runNodemaint(['trigger', '--reason', reason, '--run-directory', runDirectory]);
      assert.equal(code, 0, stderr);
    },
    own: async () => {
      const place = { path: collectionPath(NODE_MAINTENANCES) };
      const { items } = await listAll<NodeMaintenance>(rig.admin, place, (each) => each, AbortSignal.timeout(60_000));
      return items.filter(({ metadata }) => metadata.labels?.['nodemaintenance.x-k8s.io/agent'] === node);
    },
    open: async (not = []) => {
      let found: NodeMaintenance | undefined;
      await waitFor(
        'the agent has a maintenance',
        async () => {
          [found] = (await agent.own()).filter(
            ({ metadata, spec }) => spec.stage === 'Drain' && !not.includes(metadata.name),
          );
          return found !== undefined;
        },
        { program },
      );
      return found as NodeMaintenance;
    },
    [Symbol.asyncDispose]: async () => {
      await program[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await waitFor(
    'the agent has heard of the API server',
    async () => (await agent.status()).cluster.heardAt !== undefined,
    { program },
  );
  return agent;
}
