/** `nodemaint config check|show`: whether the agent can start with a configuration, and what it would use. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { loadAgentConfig } from '../../config/load.ts';
import type { AgentConfig } from '../../config/schema.ts';
import { errorCodeOf, NodemaintError } from '../../errors.ts';
import { loadClusterAccess } from '../../kube/access/cluster.ts';
import { openLocalNode } from '../local-node.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** The flags that both commands share. */
export interface ConfigFlags {
  readonly config: string;
}

async function assertStaticPodPath(place: string): Promise<void> {
  try {
    await stat(place);
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOENT' && errorCodeOf(error) !== 'ENOTDIR') throw error;
    const fix = 'set staticPodPath to the directory of the kubelet, or remove the key';
    throw new NodemaintError('CONFIG_INVALID', `the staticPodPath ${place} does not exist; ${fix}`, { cause: error });
  }
}

/**
 * `nodemaint config check`: reads the configuration and what it names, as the agent does at its start; changes nothing.
 * Throws CONFIG_INVALID and KUBECONFIG_INVALID, with the place and the fix.
 */
export async function checkConfigCommand(flags: ConfigFlags, terminal: Terminal): Promise<void> {
  const config = await loadAgentConfig(flags.config);
  if (config.kubeconfig !== '') await loadClusterAccess(config.kubeconfig);
  if (config.staticPodPath !== undefined) await assertStaticPodPath(config.staticPodPath);
  terminal.write(`${flags.config} is valid\n`);
}

/** The configuration with every default, and the static pods' places that the agent would use now. */
async function effectiveConfig(configPath: string, terminal: Terminal): Promise<AgentConfig> {
  const { config, paths } = await openLocalNode(configPath, terminal);
  const { staticPodPath, parkedPath, only } = paths;
  return { ...config, staticPodPath: path.join(staticPodPath, only ?? ''), parkedPath };
}

/**
 * `nodemaint config show [KEY…]`: prints the effective configuration as YAML or JSON; or only the values of some keys, a
 * line for each, for scripts. Throws CONFIG_INVALID; USAGE for a key that does not exist or has no value.
 */
export async function showConfigCommand(
  keys: readonly string[],
  flags: ConfigFlags & { readonly output: 'json' | 'yaml' },
  terminal: Terminal,
): Promise<void> {
  const config = await effectiveConfig(flags.config, terminal);
  if (keys.length === 0) {
    terminal.write(flags.output === 'json' ? `${JSON.stringify(config, null, 2)}\n` : stringify(config));
    return;
  }
  const values = new Map<string, unknown>(Object.entries(config));
  for (const key of keys) {
    const value = values.get(key);
    if (value === undefined) {
      const known = [...values.keys()].join(', ');
      throw new NodemaintError('USAGE', `the configuration has no value for "${key}"; it has values for ${known}`);
    }
    terminal.write(`${typeof value === 'string' ? value : JSON.stringify(value)}\n`);
  }
}
