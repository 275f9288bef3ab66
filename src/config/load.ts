import { open } from 'node:fs/promises';
import process from 'node:process';
import * as z from 'zod';
import { CONFIG_API_VERSION } from '../api/names.ts';
import { describeError, NodemaintError } from '../errors.ts';
import { CONFIG_LIMITS, createYamlReader } from '../host/files/yaml.ts';
import { type AgentConfig, agentConfigSchema } from './schema.ts';

/** Parses the text of a configuration file; `path` is only named in messages. Throws CONFIG_INVALID. */
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

/** Reads a file that nobody but root, or the user of this process, may have written; throws what is wrong with it. */
async function readOwn(path: string): Promise<string> {
  await using file = await open(path, 'r');
  // Of the open file: nobody can put another in its place between the look and the reading.
  const { uid, mode, size } = await file.stat();
  if (uid !== 0 && uid !== process.geteuid?.()) throw new Error(`it belongs to the user ${uid}, not to root`);
  if ((mode & 0o022) !== 0) throw new Error('its group or everybody may write to it');
  if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
  return await file.readFile('utf8');
}

/**
 * Reads and validates the configuration file, which says whose files root moves and what it calls; throws CONFIG_INVALID
 * with the place and the fix, also where others than root could have written it.
 */
export async function loadAgentConfig(path: string): Promise<AgentConfig> {
  let text: string;
  try {
    text = await readOwn(path);
  } catch (error) {
    throw new NodemaintError(
      'CONFIG_INVALID',
      `cannot read the configuration ${path}: ${describeError(error)}; install.sh makes it, root's and with mode 0644; name another with --config`,
      { cause: error },
    );
  }
  return parseAgentConfig(text, path);
}
