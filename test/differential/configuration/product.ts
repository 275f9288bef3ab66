/** What the sequences of configurations need of the product: of this checkout, or of a copy with a fault. */
import path from 'node:path';
import type * as JsonSchema from '../../../src/config/json-schema.ts';
import type * as Load from '../../../src/config/load.ts';
import type { Schema } from '../schema/schema.ts';

/** The program's reading of its configuration, and the schema that it prints. */
export interface ConfigurationProduct {
  readonly load: typeof Load.loadAgentConfig;
  schema(): Schema;
}

/** Loads it from a checkout. */
export async function loadConfigurationProduct(root: string): Promise<ConfigurationProduct> {
  const load = (await import(path.join(root, 'src/config/load.ts'))) as typeof Load;
  const { configJsonSchema } = (await import(path.join(root, 'src/config/json-schema.ts'))) as typeof JsonSchema;
  return { load: load.loadAgentConfig, schema: () => configJsonSchema() };
}
