import { open } from 'node:fs/promises';
import process from 'node:process';
import * as z from 'zod';
import { CONFIG_API_VERSION } from '../api/names.ts';
import { describeError, NodemaintError } from '../errors.ts';
import { CONFIG_LIMITS, createYamlReader } from '../host/files/yaml.ts';
import { type AgentConfig, agentConfigSchema } from './schema.ts';

/** Parses the text of a configuration file; `path` is used in messages only. Throws CONFIG_INVALID. */
export function parseAgentConfig(text: string, path: string): AgentConfig {
  let content: unknown;
  try {
    content = createYamlReader(CONFIG_LIMITS, { prettyErrors: true })(text);
  } catch (error) {
    throw new NodemaintError('CONFIG_INVALID', `${path} is not valid YAML: ${describeError(error)}`, { cause: error });
  }
  const result = agentConfigSchema.safeParse(content ?? {});
  if (result.success) return Object.freeze(result.data);
  const details = z.prettifyError(result.error);
  throw new NodemaintError(
    'CONFIG_INVALID',
    `${path} is not a valid configuration:\n${details}\nIt needs apiVersion: ${CONFIG_API_VERSION}, kind: AgentConfiguration, and keys from docs/reference/configuration.md only.`,
  );
}

const MAX_BYTES = 1024 * 1024;

/** Reads a file; throws if another user than root, or the user of this process, could have written it. */
async function readOwn(path: string): Promise<string> {
  await using file = await open(path, 'r');
  // The open file is checked, so it cannot be replaced between the check and the reading.
  const { uid, mode, size } = await file.stat();
  if (uid !== 0 && uid !== process.geteuid?.()) throw new Error(`it belongs to the user ${uid}, not to root`);
  if ((mode & 0o022) !== 0) throw new Error('its group or everybody may write to it');
  if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
  return await file.readFile('utf8');
}

/**
 * Reads and validates the configuration file, which determines the files that root moves and the programs that it runs.
 * Throws CONFIG_INVALID, with the key and the fix, also if other users than root could have written the file.
 */
export async function loadAgentConfig(path: string): Promise<AgentConfig> {
  let text: string;
  try {
    text = await readOwn(path);
  } catch (error) {
    throw new NodemaintError(
      'CONFIG_INVALID',
      `cannot read the configuration ${path}: ${describeError(error)}; install.sh creates it, owned by root and with mode 0644; --config names another file`,
      { cause: error },
    );
  }
  return parseAgentConfig(text, path);
}
