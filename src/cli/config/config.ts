/** `nodemaint config check|show`: whether the agent can start with a configuration, and what it would use. */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { text as textOf } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { openLocalNode } from '../machine/local-node.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { type AgentConfigFile, configOf, DROP_INS, parseConfigFile, readConfigFiles } from '../../config/load.ts';
import type { AgentConfig } from '../../config/schema.ts';
import { errorCodeOf, NodemaintError } from '../../errors.ts';
import { loadClusterAccess } from '../../kube/access/cluster.ts';
import { parkingProblem } from '../../static-pods/trusted-places.ts';

/** The flags that both commands share. */
export interface ConfigFlags {
  readonly config: string;
}

/** The flags of `nodemaint config show`. */
export interface ShowFlags extends ConfigFlags {
  readonly output: 'json' | 'yaml';
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

/** Refuses a directory for parked manifests from which links lead to the static pods: their texts alone look different. */
async function assertApart({ staticPodPath, parkedPath }: AgentConfig): Promise<void> {
  if (staticPodPath === undefined || parkedPath === undefined) return;
  const problem = await parkingProblem({ staticPodPath, parkedPath });
  if (problem !== undefined) throw new NodemaintError('CONFIG_INVALID', problem);
}

/** The names beside the drop-ins that the agent does not read. */
async function ignoredNames(files: readonly AgentConfigFile[]): Promise<readonly string[]> {
  const [main, ...dropIns] = files;
  const directory = path.join(path.dirname(main?.file ?? ''), DROP_INS);
  const names = await readdir(directory).catch((): string[] => []);
  const read = new Set(dropIns.map(({ file }) => path.basename(file)));
  return names.filter((name) => !read.has(name)).map((name) => path.join(directory, name));
}

/**
 * `nodemaint config check [FILE]`: reads the configuration and what it names, as the agent does at its start; changes
 * nothing. The FILE "-" is standard input, which has no drop-ins. Throws CONFIG_INVALID and KUBECONFIG_INVALID, with the
 * file and the key.
 */
export async function checkConfigCommand(
  file: string | undefined,
  flags: ConfigFlags,
  terminal: Terminal,
): Promise<void> {
  const name = file ?? flags.config;
  const files =
    name === '-' ? [parseConfigFile(await textOf(process.stdin), 'standard input')] : await readConfigFiles(name);
  const config = configOf(files);
  if (config.kubeconfig !== '') await loadClusterAccess(config.kubeconfig);
  if (config.staticPodPath !== undefined) await assertStaticPodPath(config.staticPodPath);
  await assertApart(config);
  const [main, ...dropIns] = files.map(({ file: each }) => each);
  terminal.write(`${main} is valid${dropIns.length === 0 ? '' : `, with ${dropIns.join(', ')}`}\n`);
  if (name === '-') return;
  for (const ignored of await ignoredNames(files)) {
    terminal.warn(`nodemaint: ${ignored} is not read: the name of a drop-in ends in .yaml and begins with no dot\n`);
  }
}

/** The configuration with every default, and the static pods' places that the agent would use now. */
async function effectiveConfig(configPath: string, terminal: Terminal): Promise<AgentConfig> {
  const { config, paths } = await openLocalNode(configPath, terminal);
  const { staticPodPath, parkedPath, only } = paths;
  return { ...config, staticPodPath: path.join(staticPodPath, only ?? ''), parkedPath };
}

/**
 * `nodemaint config show [KEY…]`: prints the effective configuration as YAML or JSON, or only the values of some keys, a line
 * for each, for scripts. Throws CONFIG_INVALID; USAGE for a key that does not
 * exist or has no value.
 */
export async function showConfigCommand(keys: readonly string[], flags: ShowFlags, terminal: Terminal): Promise<void> {
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
