import { createHash } from 'node:crypto';
import type { AgentConfig } from './schema.ts';

const LENGTH = 8;

/** A short hash of a configuration, the same for all nodes that have the same one: the name of the node is left out. */
export function configHash(config: AgentConfig): string {
  return createHash('sha256')
    .update(JSON.stringify({ ...config, nodeName: '' }))
    .digest('hex')
    .slice(0, LENGTH);
}
