import { hostname } from 'node:os';
import type { AgentConfig } from '../config/schema.ts';
import type { ClusterAccess } from '../kube/access/cluster.ts';

/** The node's name: configured, else of the identity system:node:NAME in the kubeconfig's certificate, else the host's. */
export function nodeNameOf(config: AgentConfig, access: ClusterAccess | undefined): string {
  return config.nodeName ?? access?.nodeName ?? hostname().toLowerCase();
}
