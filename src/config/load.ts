import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import * as z from 'zod';
import { CONFIG_API_VERSION } from '../api/names.ts';
import { describeError, NodemaintError } from '../errors.ts';
import { type AgentConfig, agentConfigSchema } from './schema.ts';

/** Parses the text of a configuration file; `path` is only named in messages. Throws CONFIG_INVALID. */
export function parseAgentConfig(text: string, path: string): AgentConfig {
  const document = parseDocument(text, { prettyErrors: true });
  const syntax = document.errors[0];
  if (syntax !== undefined) {
    throw new NodemaintError('CONFIG_INVALID', `${path} is not valid YAML: ${syntax.message}`, { cause: syntax });
  }
  const result = agentConfigSchema.safeParse(document.toJS({ maxAliasCount: 20 }) ?? {});
  if (result.success) return Object.freeze(result.data);
  const details = z.prettifyError(result.error);
  throw new NodemaintError(
    'CONFIG_INVALID',
    `${path} is not a valid configuration:\n${details}\nIt needs apiVersion: ${CONFIG_API_VERSION}, kind: AgentConfiguration, and keys from docs/configuration.md only.`,
  );
}

/** Reads and validates the configuration file; throws CONFIG_INVALID with the place and the fix. */
export async function loadAgentConfig(path: string): Promise<AgentConfig> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new NodemaintError(
      'CONFIG_INVALID',
      `cannot read the configuration ${path}: ${describeError(error)}; create it (install.sh does) or name another with --config`,
      { cause: error },
    );
  }
  return parseAgentConfig(text, path);
}
