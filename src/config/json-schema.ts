import * as z from 'zod';
import { agentConfigSchema } from './schema.ts';

/** The JSON Schema (2020-12) of a configuration file. Rules between keys are in the program only. */
export function configJsonSchema(): object {
  return { title: 'AgentConfiguration', ...z.toJSONSchema(agentConfigSchema, { io: 'input' }) };
}
