/** The files of a configuration: the main one, and the drop-ins that change keys of it. */
import { createHash } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import * as z from 'zod';
import { CONFIG_API_VERSION } from '../api/names.ts';
import { type AgentConfig, agentConfigSchema } from './schema.ts';
import { mergePatch } from '../decide/json.ts';
import { describeError, errorCodeOf, NodemaintError } from '../errors.ts';
import { CONFIG_LIMITS, createYamlReader } from '../host/files/yaml.ts';

const LENGTH = 8;

/** A short hash of a configuration, the same for all nodes that have the same one: the name of the node is left out. */
export function configHash(config: AgentConfig): string {
  return createHash('sha256')
    .update(JSON.stringify({ ...config, nodeName: '' }))
    .digest('hex')
    .slice(0, LENGTH);
}

/** One file of a configuration. */
export interface AgentConfigFile {
  readonly file: string;
  readonly content: unknown;
}

/** The folder of drop-ins, beside the configuration file. */
export const DROP_INS = 'config.d';
const MAX_DROP_INS = 100;
const MAX_BYTES = 1024 * 1024;
/** What each file has, as each file of a kubelet's configuration does. */
const headSchema = z.looseObject({ apiVersion: z.literal(CONFIG_API_VERSION), kind: z.literal('AgentConfiguration') });

function parseAs<T>(schema: z.ZodType<T>, content: unknown, file: string): T {
  const result = schema.safeParse(content);
  if (result.success) return result.data;
  throw new NodemaintError(
    'CONFIG_INVALID',
    `${file} is not a valid configuration of the agent:\n${z.prettifyError(result.error)}`,
  );
}

/** Parses the text of one file, of which only apiVersion and kind are validated. Throws CONFIG_INVALID. */
export function parseConfigFile(text: string, file: string): AgentConfigFile {
  let content: unknown;
  try {
    content = createYamlReader(CONFIG_LIMITS, { prettyErrors: true })(text);
  } catch (error) {
    throw new NodemaintError('CONFIG_INVALID', `${file} is not valid YAML: ${describeError(error)}`, { cause: error });
  }
  parseAs(headSchema, content, file);
  return { file, content };
}

/**
 * The configuration of these files, the main one first. A later file wins: maps are merged, lists replaced, and null takes a
 * key away. Throws CONFIG_INVALID for the first file with which the configuration is not valid.
 */
export function configOf(files: readonly AgentConfigFile[]): AgentConfig {
  let merged: unknown;
  let config: AgentConfig | undefined;
  for (const { file, content } of files) {
    merged = merged === undefined ? content : mergePatch(merged, content);
    config = parseAs(agentConfigSchema, merged, file);
  }
  if (config === undefined) throw new NodemaintError('CONFIG_INVALID', 'there is no configuration');
  return Object.freeze(config);
}

/** Throws if another user than root, or the user of this process, can write to what these facts are of. */
function assertOwn({ uid, mode }: { readonly uid: number; readonly mode: number }): void {
  if (uid !== 0 && uid !== process.geteuid?.()) throw new Error(`it belongs to the user ${uid}, not to root`);
  if ((mode & 0o022) !== 0) throw new Error('its group or everybody may write to it');
}

/** Reads a file; throws if another user than root, or the user of this process, could have written it. */
async function readOwn(file: string): Promise<string> {
  await using handle = await open(file, 'r');
  // The open file is checked, so it cannot be replaced between the check and the reading.
  const stats = await handle.stat();
  assertOwn(stats);
  if (stats.size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
  return await handle.readFile('utf8');
}

async function readConfigFile(file: string): Promise<AgentConfigFile> {
  let text: string;
  try {
    text = await readOwn(file);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') {
      const message = `there is no ${file}: no agent is installed on this machine, or --config names the wrong file; install the package of the release, or run its install.sh as root`;
      throw new NodemaintError('CONFIG_INVALID', message);
    }
    const fix = 'it must be a file of root with mode 0644; --config names another one';
    const message = `cannot read the configuration ${file}: ${describeError(error)}; ${fix}`;
    throw new NodemaintError('CONFIG_INVALID', message, { cause: error });
  }
  return parseConfigFile(text, file);
}

/** The drop-ins of a configuration file, in the order in which they apply. Throws CONFIG_INVALID. */
async function listDropIns(file: string): Promise<readonly string[]> {
  const directory = path.join(path.dirname(file), DROP_INS);
  try {
    assertOwn(await stat(directory));
    const names = (await readdir(directory)).filter((name) => name.endsWith('.yaml') && !name.startsWith('.'));
    if (names.length > MAX_DROP_INS) throw new Error(`it has more than ${MAX_DROP_INS} drop-ins`);
    return names
      .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .map((name) => path.join(directory, name));
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return [];
    const message = `cannot read the drop-ins in ${directory}: ${describeError(error)}; it must be a directory of root with mode 0755`;
    throw new NodemaintError('CONFIG_INVALID', message, { cause: error });
  }
}

/**
 * Reads the configuration file, and the drop-ins `config.d/*.yaml` beside it in the order of their names. Throws
 * CONFIG_INVALID, also if other users than root could have written one of them.
 */
export async function readConfigFiles(file: string): Promise<readonly AgentConfigFile[]> {
  const files = [await readConfigFile(file)];
  for (const dropIn of await listDropIns(file)) files.push(await readConfigFile(dropIn));
  return files;
}

/**
 * Reads and validates the configuration, which determines the files that root moves and the programs that it runs. Throws
 * CONFIG_INVALID, with the file and the key.
 */
export async function loadAgentConfig(file: string): Promise<AgentConfig> {
  return configOf(await readConfigFiles(file));
}
