import path from 'node:path';
import { type Program, startProgram } from '../control-plane/process.ts';
import { goProgram } from '../support/go-program.ts';

/** What kwok does with nodes and pods unless it is told otherwise. */
export const STAGES = path.join(import.meta.dirname, 'stages.yaml');

/**
 * Starts kwok (https://kwok.sigs.k8s.io) in place of the kubelets of all nodes of a cluster: nodes get ready, pods run, and a
 * pod that is deleted is gone at once. Nodes have Leases but no heartbeats: the controller manager must be told to wait
 * for longer than the cluster is used.
 */
export async function startKwok(
  kubeconfig: string,
  logFile: string,
  signal: AbortSignal,
  config = STAGES,
): Promise<Program> {
  const binary = await goProgram('kwok', import.meta.dirname, signal);
  // Four times the interval at which kwok renews the Leases.
  const lease = '--node-lease-duration-seconds=14400';
  return startProgram([binary, '--kubeconfig', kubeconfig, '--config', config, '--manage-all-nodes', lease], logFile);
}
