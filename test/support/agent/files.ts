import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CONFIG_API_VERSION } from '../../../src/api/names.ts';
import type { TestNode } from '../../node/node.ts';

/** The files of a test's agent. */
export interface AgentFiles {
  readonly configFile: string;
  readonly runDirectory: string;
  /** Another text in it is another boot. */
  readonly bootIdPath: string;
}

/** The keys of an agent on a real node, under the node's identity. */
export function keysOfNode(node: TestNode): object {
  return {
    kubeconfig: node.kubeconfig,
    staticPodPath: node.staticPodPath,
    // The kubelet has a PID namespace of its own: the agent does not believe it.
    kubeletHealthz: node.healthUrl,
    containerRuntimeEndpoint: node.runtimeEndpoint,
    kubeletRootPath: node.rootDir,
  };
}

/**
 * Writes the configuration of an agent whose files are all in `folder`: without a cluster, a kubelet, a runtime and a
 * lock, unless `keys` have them. A key of `keys` that is undefined has the agent's own default.
 */
export async function writeAgentFiles(folder: string, keys: object = {}): Promise<AgentFiles> {
  const runDirectory = path.join(folder, 'run');
  const bootIdPath = path.join(folder, 'boot-id');
  const configFile = path.join(folder, 'config.yaml');
  const config = {
    apiVersion: CONFIG_API_VERSION,
    kind: 'AgentConfiguration',
    kubeconfig: '',
    staticPodPath: path.join(folder, 'manifests'),
    kubeletHealthz: '',
    containerRuntimeEndpoint: `unix://${folder}/cri.sock`,
    stateDirectory: path.join(folder, 'state'),
    runDirectory,
    bootIdPath,
    lock: 'none',
    ...keys,
  };
  await writeFile(bootIdPath, 'boot-1');
  await writeFile(configFile, JSON.stringify(config));
  return { configFile, runDirectory, bootIdPath };
}
