import { parseLayer } from '../../../src/config/layers.ts';
import { configOfLayers } from '../../../src/config/load.ts';
import type { AgentConfig } from '../../../src/config/schema.ts';

/** The configuration that a file with this text is; `file` is used in messages only. Throws CONFIG_INVALID. */
export function parseAgentConfig(text: string, file: string): AgentConfig {
  return configOfLayers([parseLayer(text, file)]);
}
