import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { AgentConfig } from '../config/schema.ts';
import { describeError, NodemaintError } from '../errors.ts';
import type { ClusterAccess } from '../kube/config.ts';

/** The node's name: configured, else of the identity system:node:NAME in the kubeconfig's certificate, else the host's. */
export function nodeNameOf(config: AgentConfig, access: ClusterAccess | undefined): string {
  return config.nodeName ?? access?.nodeName ?? hostname().toLowerCase();
}

/** What tells this boot from others. Throws CONFIG_INVALID where the file cannot be read. */
export async function readBootId(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new NodemaintError(
      'CONFIG_INVALID',
      `cannot read the boot id ${file}: ${describeError(error)} (key "bootIdPath")`,
      {
        cause: error,
      },
    );
  }
}
