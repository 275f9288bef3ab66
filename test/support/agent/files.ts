import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestNode } from '../../node/node.ts';

/** The files of a test's agent. */
export interface AgentFiles {
  readonly configFile: string;
  readonly runDirectory: string;
  /** Another text in it is another boot. */
  readonly bootIdPath: string;
}

/** Writes the configuration of an agent of this node, with everything of its own in `folder`; no lock unless `more` has one. */
export async function writeAgentFiles(folder: string, node: TestNode, more: object = {}): Promise<AgentFiles> {
  const runDirectory = path.join(folder, 'run');
  const bootIdPath = path.join(folder, 'boot-id');
  const configFile = path.join(folder, 'config.yaml');
  const config = {
    apiVersion: 'agent.nodemaintenance.x-k8s.io/v1alpha1',
    kind: 'AgentConfiguration',
    kubeconfig: node.kubeconfig,
    staticPodPath: node.staticPodPath,
    // The kubelet has a PID namespace of its own: the agent does not believe it.
    kubeletHealthz: node.healthUrl,
    containerRuntimeEndpoint: node.runtimeEndpoint,
    stateDirectory: path.join(folder, 'state'),
    runDirectory,
    bootIdPath,
    lock: 'none',
    ...more,
  };
  await writeFile(bootIdPath, 'boot-1');
  await writeFile(configFile, JSON.stringify(config));
  return { configFile, runDirectory, bootIdPath };
}
