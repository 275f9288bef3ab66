import * as z from 'zod';
import { agentConfigSchema } from '../../src/config/schema.ts';

/** The JSON Schema of the configuration of the agent, as docs/reference/configuration.schema.json has it. */
export function configJsonSchema(): object {
  return { title: 'AgentConfiguration', ...z.toJSONSchema(agentConfigSchema, { io: 'input' }) };
}
