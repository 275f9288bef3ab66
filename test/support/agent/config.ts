import { configOf, parseConfigFile } from '../../../src/config/load.ts';
import type { AgentConfig } from '../../../src/config/schema.ts';

/** The configuration that a file with this text is; `file` is used in messages only. Throws CONFIG_INVALID. */
export function parseAgentConfig(text: string, file: string): AgentConfig {
  return configOf([parseConfigFile(text, file)]);
}
